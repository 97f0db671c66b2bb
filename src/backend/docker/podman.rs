//! What Podman takes otherwise than Docker, though both answer to the same API.
//!
//! Main function: [`adapt`].

use bollard::models::ContainerCreateBody;

use super::lower;
use crate::model::{Cell, Grant};

/// Changes a request for Docker into one for Podman: that reads a seccomp profile itself, from a file of its machine,
/// where Docker is sent the content.
pub(super) fn adapt(cell: &Cell, body: &mut ContainerCreateBody) {
    let named = cell.visibility.grants.iter().filter_map(profile);
    let options = body.host_config.iter_mut().filter_map(|host| host.security_opt.as_mut()).flatten();
    for (option, path) in options.filter(|option| option.starts_with("seccomp={")).zip(named) {
        *option = format!("seccomp={path}");
    }
}

/// The whole path of the profile that a grant names: Podman's service is in another folder than this program.
fn profile(grant: &Grant) -> Option<String> {
    let Grant::Security(option) = grant else { return None };
    let path = lower::profile(option)?;
    Some(std::path::absolute(path).map_or_else(|_| path.to_owned(), |path| path.display().to_string()))
}

#[cfg(test)]
mod tests {
    use bollard::models::HostConfig;

    use super::*;
    use crate::model::{CellParts, Visibility};
    use crate::testing;

    #[test]
    fn a_profile_is_named_and_not_sent() {
        let parts = testing::parts("it", "none", &[]);
        let grants = ["label=disable", "seccomp=unconfined", "seccomp=/etc/profile.json"]
            .map(|option| Grant::Security(option.to_owned()));
        let visibility = Visibility { name: "strict".into(), grants: grants.into() };
        let cell = Cell::new(CellParts { visibility, ..parts });
        let sent = ["no-new-privileges", "label=disable", "seccomp=unconfined", "seccomp={\"a\":1}"];
        let host = HostConfig { security_opt: Some(sent.map(str::to_owned).into()), ..HostConfig::default() };
        let mut body = ContainerCreateBody { host_config: Some(host), ..ContainerCreateBody::default() };
        adapt(&cell, &mut body);
        let taken = body.host_config.unwrap().security_opt.unwrap();
        assert_eq!(taken[..3], sent[..3]);
        assert_eq!(taken[3], "seccomp=/etc/profile.json");
    }
}
