//! Planning the matrices of this repository.

use gpusweep::plan::{Plan, plan};

use crate::matrix::shipped;

fn planned(name: &str) -> Plan {
    let (_, source) = shipped().into_iter().find(|(known, _)| known == name).unwrap();
    plan(&gpusweep::matrix::parse(&source, name).unwrap()).unwrap()
}

#[test]
fn every_matrix_of_the_repository_has_its_cells() {
    for (name, _) in shipped() {
        let plan = planned(&name);
        for cell in &plan.cells {
            println!(
                "{} {:?} {:?} {:?}",
                cell.cell.id(),
                cell.cell.expect.codes,
                cell.pruned,
                cell.cell.expect.facts
            );
        }
    }
}
