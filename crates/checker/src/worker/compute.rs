//! The fixed computation's right results, and whether a worker's are those.
//!
//! Main function: [`verify`]. `A = [[1,2],[3,4]]`, `B = [[2,0],[1,2]]`: every value on the way is a small whole number,
//! exact in any float format, so the comparison is exact too.

use gpusweep_report::wire::Computed;
use gpusweep_report::{Execution, Stage};

use crate::privacy::token;
use crate::verdict::Fault;

const PRODUCT: [[f64; 2]; 2] = [[4.0, 4.0], [10.0, 8.0]];
const GRADIENT: [[f64; 2]; 2] = [[16.0, 24.0], [40.0, 52.0]];
const LOSS: f64 = 196.0;

/// What the results say.
#[derive(Debug)]
pub(super) struct Verified {
    pub(super) execution: Execution,
    /// Those that are wrong, in order.
    pub(super) faults: Vec<(Stage, Fault)>,
}

/// Compares the results with the right ones, and their devices with the one asked for.
pub(super) fn verify(computed: &Computed, device: &str) -> Verified {
    let mut faults = Vec::new();
    let product = matrix(&computed.product);
    let loss: Option<f64> = computed.loss.parse().ok();
    if product.as_deref() != Some(&PRODUCT.map(|row| row.to_vec())) {
        faults.push((Stage::Product, wrong("product", product.as_deref(), PRODUCT)));
    } else if loss != Some(LOSS) {
        let message = format!("the loss is {}, not {LOSS}", token(&computed.loss));
        faults.push((Stage::Product, Fault::new("WrongValue", message)));
    } else if computed.product_device != device {
        faults.push((Stage::Product, elsewhere("product", &computed.product_device, device)));
    }
    let product_verified = faults.is_empty();
    let gradient = matrix(&computed.gradient);
    if gradient.as_deref() != Some(&GRADIENT.map(|row| row.to_vec())) {
        faults.push((Stage::Gradient, wrong("gradient", gradient.as_deref(), GRADIENT)));
    } else if computed.gradient_device != device {
        faults.push((Stage::Gradient, elsewhere("gradient", &computed.gradient_device, device)));
    }
    let gradient_verified = faults.iter().all(|(stage, _)| *stage != Stage::Gradient);
    let execution = Execution {
        device: token(&computed.product_device),
        product_verified,
        gradient_verified,
        loss: loss.filter(|loss| loss.is_finite()),
    };
    Verified { execution, faults }
}

fn matrix(rows: &[Vec<String>]) -> Option<Vec<Vec<f64>>> {
    rows.iter().map(|row| row.iter().map(|value| value.parse().ok()).collect()).collect()
}

fn wrong(what: &str, found: Option<&[Vec<f64>]>, right: [[f64; 2]; 2]) -> Fault {
    let found = found.map_or_else(|| "not a matrix of numbers".to_owned(), |found| format!("{found:?}"));
    Fault::new("WrongValue", format!("the {what} is {found}, not {right:?}"))
}

fn elsewhere(what: &str, found: &str, asked: &str) -> Fault {
    Fault::new("WrongDevice", format!("the {what} is on {}, not on {asked}", token(found)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn computed(product: &str, gradient: &str, loss: &str, devices: [&str; 2]) -> Computed {
        let text = |rows: &str| -> Vec<Vec<String>> {
            rows.split(';').map(|row| row.split(',').map(str::to_owned).collect()).collect()
        };
        Computed {
            product: text(product),
            gradient: text(gradient),
            loss: loss.to_owned(),
            product_device: devices[0].to_owned(),
            gradient_device: devices[1].to_owned(),
        }
    }

    fn faults(computed: &Computed) -> Vec<(Stage, String)> {
        verify(computed, "cpu").faults.into_iter().map(|(stage, fault)| (stage, fault.kind)).collect()
    }

    const RIGHT: [&str; 2] = ["4.0,4.0;10.0,8.0", "16.0,24.0;40.0,52.0"];

    #[test]
    fn right_results_hold() {
        let verified = verify(&computed(RIGHT[0], RIGHT[1], "196.0", ["cpu", "cpu"]), "cpu");
        assert!(verified.faults.is_empty());
        assert!(verified.execution.product_verified && verified.execution.gradient_verified);
        assert_eq!(verified.execution.loss, Some(196.0));
    }

    #[test]
    fn each_wrong_result_is_named() {
        let value = "WrongValue".to_owned();
        let product = computed("4.0,4.0;10.0,nan", RIGHT[1], "nan", ["cpu", "cpu"]);
        assert_eq!(faults(&product), [(Stage::Product, value.clone())]);
        assert_eq!(verify(&product, "cpu").execution.loss, None);
        let loss = computed(RIGHT[0], RIGHT[1], "196.00001", ["cpu", "cpu"]);
        assert_eq!(faults(&loss), [(Stage::Product, value.clone())]);
        let gradient = computed(RIGHT[0], "16.0,24.0;40.0", "196.0", ["cpu", "cpu"]);
        assert_eq!(faults(&gradient), [(Stage::Gradient, value)]);
        let moved = computed(RIGHT[0], RIGHT[1], "196.0", ["cuda:0", "cuda:0"]);
        let device = "WrongDevice".to_owned();
        assert_eq!(faults(&moved), [(Stage::Product, device.clone()), (Stage::Gradient, device)]);
    }
}
