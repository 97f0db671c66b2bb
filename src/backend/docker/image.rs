//! Has the image on the engine: looks first, pulls what is missing.

use std::time::Duration;

use bollard::Docker;
use bollard::errors::Error;
use bollard::models::ImageInspect;
use bollard::query_parameters::CreateImageOptions;
use futures_util::TryStreamExt as _;
use tokio::sync::Semaphore;

use super::engine::Engine;
use super::refusal::{answered, engine_fault, fault, is_status, request_fault, words};
use crate::matrix::is_exact;
use crate::model::{Fault, FaultKind};

/// What is known of an image that is there.
#[derive(Clone)]
pub(super) struct Image {
    /// Repository digest where there is one, else the image's id.
    pub(super) digest: Option<String>,
    /// Its ENTRYPOINT and CMD, where they are short enough to pass on.
    pub(super) command: Vec<String>,
}

/// How long to wait before a pull is tried again.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(4)];

/// The longest command that is passed on, in bytes.
const MAX_COMMAND: usize = 8 * 1024;

pub(super) async fn obtain(engine: &Engine, reference: &str, pulls: &Semaphore) -> Result<Image, Fault> {
    let found = match engine.docker.inspect_image(reference).await {
        Ok(found) => found,
        Err(error) if is_status(&error, 404) => {
            pull(&engine.docker, reference, pulls).await?;
            engine
                .docker
                .inspect_image(reference)
                .await
                .map_err(|error| request_fault(FaultKind::ImageUnavailable, &error))?
        }
        Err(error) => return Err(request_fault(FaultKind::ImageUnavailable, &error)),
    };
    check_platform(engine, reference, &found)?;
    Ok(Image { command: command(&found), digest: digest(found) })
}

/// Digest of an image that is there.
pub(super) async fn digest_of(engine: &Engine, reference: &str) -> Option<String> {
    engine.docker.inspect_image(reference).await.ok().and_then(digest)
}

/// Tries again where a registry or the way to it fails for a moment; whoever waits for the image waits for that too.
async fn pull(docker: &Docker, reference: &str, pulls: &Semaphore) -> Result<(), Fault> {
    let _slot = pulls.acquire().await;
    let mut pauses = PAUSES.into_iter();
    loop {
        let Err(error) = pull_once(docker, reference).await else { return Ok(()) };
        let said = words(&error);
        if !answered(&error) {
            return Err(engine_fault(&said));
        }
        match pauses.next().filter(|_| is_passing(&said)) {
            Some(pause) => tokio::time::sleep(pause).await,
            None => {
                let message = format!("the image is not on the engine, and pulling it failed: {said}");
                return Err(fault(FaultKind::ImageUnavailable, &message));
            }
        }
    }
}

/// Whether a registry may answer otherwise in a moment. Who is denied, or asks for what is not there, will be told the same.
fn is_passing(words: &str) -> bool {
    const PASSING: [&str; 12] = [
        "timeout",
        "timed out",
        "deadline exceeded",
        "connection reset",
        "unexpected eof",
        "toomanyrequests",
        "too many requests",
        "500 internal server error",
        "502 bad gateway",
        "503 service unavailable",
        "504 gateway",
        "temporary failure in name resolution",
    ];
    let words = words.to_lowercase();
    PASSING.iter().any(|passing| words.contains(passing))
}

async fn pull_once(docker: &Docker, reference: &str) -> Result<(), Error> {
    // Without a tag the API would fetch every tag of the repository.
    let full = if is_exact(reference) { reference.to_owned() } else { format!("{reference}:latest") };
    let options = CreateImageOptions { from_image: Some(full), ..CreateImageOptions::default() };
    docker.create_image(Some(options), None, None).try_for_each(async |_| Ok(())).await
}

fn check_platform(engine: &Engine, reference: &str, image: &ImageInspect) -> Result<(), Fault> {
    match (&engine.arch, image.architecture.as_deref()) {
        (Some(engine), Some(image)) if !image.is_empty() && engine != image => {
            let message = format!("{reference} is built for {image}, and the engine runs {engine}");
            Err(fault(FaultKind::PlatformMismatch, &message))
        }
        (_, _) => Ok(()),
    }
}

fn command(image: &ImageInspect) -> Vec<String> {
    let config = image.config.as_ref();
    let entrypoint = config.and_then(|config| config.entrypoint.as_deref()).unwrap_or_default();
    let cmd = config.and_then(|config| config.cmd.as_deref()).unwrap_or_default();
    let words = [entrypoint, cmd].concat();
    if words.iter().map(String::len).sum::<usize>() > MAX_COMMAND { Vec::new() } else { words }
}

fn digest(image: ImageInspect) -> Option<String> {
    let repository = image.repo_digests.unwrap_or_default().into_iter().next();
    repository.and_then(|name| name.split_once('@').map(|(_, digest)| digest.to_owned())).or(image.id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_may_pass_is_tried_again() {
        let passing = [
            "Get \"https://r.example/v2/\": net/http: TLS handshake timeout",
            "received unexpected HTTP status: 503 Service Unavailable",
            "toomanyrequests: You have reached your pull rate limit",
            "read tcp 10.0.0.1:1->10.0.0.2:443: read: connection reset by peer",
        ];
        let lasting = [
            "manifest for r.example/a:1 not found: manifest unknown",
            "pull access denied for a, repository does not exist or may require 'docker login'",
            "dial tcp: lookup r.example: no such host",
            "dial tcp 127.0.0.1:443: connect: connection refused",
        ];
        assert!(passing.iter().all(|words| is_passing(words)));
        assert!(!lasting.iter().any(|words| is_passing(words)));
    }
}
