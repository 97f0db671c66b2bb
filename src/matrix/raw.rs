//! The matrix as typed.
//!
//! Main type: [`RawMatrix`]. Shapes and keys only, for serde and for the JSON Schema; what the values mean is found out by
//! `parse`.

use gpusweep_report::Probe;
use schemars::JsonSchema;
use serde::Deserialize;

use super::at::{At, Entries, Texts, present};
use super::either::{CodesOr, NameOr};
use super::shape;
use crate::model::Stack;

/// What gpusweep sweeps: images, their variants, ways of exposing a GPU, and hosts.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a matrix: a map with keys such as `schema`, `name` and `images`")]
#[schemars(rename = "Matrix", title = "gpusweep matrix")]
pub(super) struct RawMatrix {
    /// Version of this format: `gpusweep.matrix/1`.
    #[schemars(with = "shape::SchemaName")]
    pub(super) schema: At<String>,
    /// Name of the sweep; it becomes part of the run folder's name.
    pub(super) name: At<String>,
    /// First axis: the images under test.
    #[schemars(length(min = 1))]
    pub(super) images: At<Vec<At<RawImage>>>,
    /// Second axis: build variants by name, each with its stack, toolkit and keys for placeholders.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "Entries<shape::Variant>")]
    pub(super) variants: Option<At<Entries<Option<At<RawVariant>>>>>,
    /// Third axis: ways of exposing a GPU, presets by name or spelled out. Default: `none` alone.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "Vec<NameOr<RawVisibility>>", length(min = 1))]
    pub(super) visibility: Option<At<Vec<At<NameOr<RawVisibility>>>>>,
    /// Fourth axis: where cells run. Default: the engine that `docker` itself would talk to.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "Vec<NameOr<RawHost>>", length(min = 1))]
    pub(super) hosts: Option<At<Vec<At<NameOr<RawHost>>>>>,
    /// Back end of the hosts that name none: `docker`, or `host` for this machine itself.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "shape::Backend")]
    pub(super) backend: Option<At<String>>,
    /// Whether a cell runs on each host, or on any one.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "shape::Placement")]
    pub(super) placement: Option<At<String>>,
    /// What the checker does in each cell.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "RawChecks")]
    pub(super) checks: Option<At<RawChecks>>,
    /// What cells must yield; the first rule that matches counts.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "Vec<RawRule>")]
    pub(super) expect: Option<Vec<At<RawRule>>>,
    /// Combinations to leave out.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "Vec<RawWhen>")]
    pub(super) exclude: Option<Vec<At<RawWhen>>>,
    /// Combinations to add, or to change where they are there already. Never pruned.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "Vec<RawInclude>")]
    pub(super) include: Option<Vec<At<RawInclude>>>,
    /// Bounds of the sweep and of each cell.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "RawLimits")]
    pub(super) limits: Option<At<RawLimits>>,
}

/// The keys of one variant: `stack`, `toolkit`, and any that a placeholder of an image names.
pub(super) type RawVariant = Entries<At<String>>;

/// An image under test.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "an image: a map with `name` and `ref`")]
#[schemars(rename = "Image")]
pub(super) struct RawImage {
    /// Name in tables.
    pub(super) name: At<String>,
    /// Reference; `{variant}` and `{variant.KEY}` are filled in.
    #[serde(rename = "ref")]
    pub(super) reference: At<String>,
    /// Family under which variants are compared side by side; default: the name.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "String")]
    pub(super) family: Option<At<String>>,
    /// The only variant that this image is of; default: every variant.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "shape::Scalar")]
    pub(super) variant: Option<At<String>>,
}

/// A way of exposing a GPU, spelled out as `docker run` would take it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "the name of a preset, or a map with `name` and what to expose")]
#[schemars(rename = "Visibility")]
pub(super) struct RawVisibility {
    /// Name in tables.
    pub(super) name: At<String>,
    /// What `docker run --gpus` takes: `all`, a number, `device=0,1`, `device=UUID`, `capabilities=compute,utility`,
    /// `driver=amd,count=all`.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "shape::Scalar")]
    pub(super) gpus: Option<At<String>>,
    /// CDI devices, such as `nvidia.com/gpu=all`.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "Texts")]
    pub(super) cdi: Option<Texts>,
    /// OCI runtime, such as `nvidia`.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "String")]
    pub(super) runtime: Option<At<String>>,
    /// Device nodes, or directories of them, such as `/dev/kfd` or `/dev/dri:rw`.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "Texts")]
    pub(super) devices: Option<Texts>,
    /// Supplementary groups by number, or `host` for those that own the device nodes there.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "Texts")]
    pub(super) groups: Option<Texts>,
    /// Variables; `""` is set and empty, `null` is unset even where the image sets it.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "Entries<Option<shape::Scalar>>")]
    pub(super) env: Option<Entries<At<Option<String>>>>,
    /// Size of `/dev/shm`, such as `8g`, or bytes.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "shape::Size")]
    pub(super) shm_size: Option<At<String>>,
    /// IPC mode.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "shape::Ipc")]
    pub(super) ipc: Option<At<String>>,
    /// Resource limits: a number, `soft:hard`, or -1 for no limit.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "Entries<shape::Scalar>")]
    pub(super) ulimits: Option<Entries<At<String>>>,
    /// Security options, such as `seccomp=unconfined`, or `seccomp=` and the path of a profile on this machine.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "Texts")]
    pub(super) security: Option<Texts>,
    /// Everything at once; marked in every table.
    #[serde(default)]
    pub(super) privileged: bool,
}

/// The files of a TLS connection, by their paths on this machine.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a map with `ca`, `cert` and `key`")]
#[schemars(rename = "Tls")]
pub(super) struct RawTls {
    /// Certificates of the authorities that the engine's certificate is checked against.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "String")]
    pub(super) ca: Option<At<String>>,
    /// This client's certificate.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "String")]
    pub(super) cert: Option<At<String>>,
    /// The key of that certificate.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "String")]
    pub(super) key: Option<At<String>>,
    /// Leave the engine's certificate unchecked.
    #[serde(default)]
    pub(super) skip_verify: bool,
}

/// One place where cells run.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "`local`, `host`, an endpoint, or a map with `name`")]
#[schemars(rename = "Host")]
pub(super) struct RawHost {
    /// Name in tables.
    pub(super) name: At<String>,
    /// `local`, a docker context, `unix:///path`, `tcp://host:port` or `ssh://user@host`. Default: `local`.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "String")]
    pub(super) endpoint: Option<At<String>>,
    /// Files of a `tcp://` endpoint with TLS. Default: as `DOCKER_TLS_VERIFY` and `DOCKER_CERT_PATH` say.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "RawTls")]
    pub(super) tls: Option<At<RawTls>>,
    /// `docker`, or `host` for this machine itself without a container.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "shape::Backend")]
    pub(super) backend: Option<At<String>>,
    /// The GPU stacks that it has; default: not said, so nothing is pruned for it.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "shape::OneOrMany<Stack>")]
    pub(super) stacks: Option<Texts>,
    /// Cells at a time there.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "shape::Count")]
    pub(super) slots: Option<At<String>>,
}

/// What the checker does in each cell.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a map with keys such as `device` and `timeout`")]
#[schemars(rename = "Checks")]
pub(super) struct RawChecks {
    /// GPU index, `cpu`, or a list of them: one more axis. Default: 0.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "shape::OneOrMany<shape::Device>")]
    pub(super) device: Option<Texts>,
    /// Deadline of the computation, 5s to 120s. Default: 30s.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "shape::Duration")]
    pub(super) timeout: Option<At<String>>,
    /// What looks at the image. Default: `auto`.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "Probe")]
    pub(super) probe: Option<At<String>>,
    /// Whether `nvidia-smi` is asked too. Default: false.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "bool")]
    pub(super) host_check: Option<bool>,
    /// Interpreter to check, as a path in the image. Default: the checker finds it.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "String")]
    pub(super) python: Option<At<String>>,
}

/// What the cells that match must yield.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a rule: a map with `when`, and `code` or `facts`")]
#[schemars(rename = "Rule")]
pub(super) struct RawRule {
    /// Which cells; default: all.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "RawWhen")]
    pub(super) when: Option<At<RawWhen>>,
    /// Any of these codes; default: the code that such a cell yields by nature.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "shape::OneOrMany<crate::model::Code>")]
    pub(super) code: Option<Texts>,
    /// All of these facts: fields of the report by dotted path, and a value or a pattern for each.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "Entries<Option<shape::Scalar>>")]
    pub(super) facts: Option<Entries<At<Option<String>>>>,
}

/// Which cells: every key that is given must match one of its values or patterns.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a condition: a map with keys such as `image` and `visibility`")]
#[schemars(rename = "When")]
pub(super) struct RawWhen {
    /// Image, by name.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "Texts")]
    pub(super) image: Option<Texts>,
    /// Variant, by name.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "Texts")]
    pub(super) variant: Option<Texts>,
    /// Visibility, by name.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "Texts")]
    pub(super) visibility: Option<Texts>,
    /// Host, by name.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "Texts")]
    pub(super) host: Option<Texts>,
    /// Device asked for.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "Texts")]
    pub(super) device: Option<Texts>,
    /// Stack of the variant.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "Texts")]
    pub(super) stack: Option<Texts>,
    /// Family of the image.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "Texts")]
    pub(super) family: Option<Texts>,
}

/// One combination to add or to change; a key that is left out stands for every value of its axis.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a combination: a map with keys such as `image` and `visibility`")]
#[schemars(rename = "Include")]
pub(super) struct RawInclude {
    /// Image, by name.
    pub(super) image: At<String>,
    /// Variant, by name.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "shape::Scalar")]
    pub(super) variant: Option<At<String>>,
    /// Visibility of the axis, or a preset.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "String")]
    pub(super) visibility: Option<At<String>>,
    /// Host, by name.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "String")]
    pub(super) host: Option<At<String>>,
    /// GPU index or `cpu`, or a list of them.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "shape::OneOrMany<shape::Device>")]
    pub(super) device: Option<Texts>,
    /// A code, a list of codes, or a map with `code` and `facts`.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "CodesOr<RawOutcome>")]
    pub(super) expect: Option<At<CodesOr<RawOutcome>>>,
    /// Deadline of the computation, 5s to 120s.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "shape::Duration")]
    pub(super) timeout: Option<At<String>>,
    /// What looks at the image.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "Probe")]
    pub(super) probe: Option<At<String>>,
    /// Whether `nvidia-smi` is asked too.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "bool")]
    pub(super) host_check: Option<bool>,
    /// Interpreter to check, as a path in the image.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "String")]
    pub(super) python: Option<At<String>>,
}

/// What a combination must yield.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a code, a list of codes, or a map with `code` and `facts`")]
#[schemars(rename = "Outcome")]
pub(super) struct RawOutcome {
    /// Any of these codes; default: the code that such a cell yields by nature.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "shape::OneOrMany<crate::model::Code>")]
    pub(super) code: Option<Texts>,
    /// All of these facts: fields of the report by dotted path, and a value or a pattern for each.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "Entries<Option<shape::Scalar>>")]
    pub(super) facts: Option<Entries<At<Option<String>>>>,
}

/// Bounds of the sweep and of each cell.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a map with keys such as `jobs` and `cell_timeout`")]
#[schemars(rename = "Limits")]
pub(super) struct RawLimits {
    /// Cells at a time in all. Default: as many as the hosts take.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "shape::Count")]
    pub(super) jobs: Option<At<String>>,
    /// Cells at a time on one host. Default: twice the engine's processors.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "shape::Count")]
    pub(super) per_host: Option<At<String>>,
    /// Pulls at a time on one host. Default: 2.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "shape::Count")]
    pub(super) pull: Option<At<String>>,
    /// Whether cells may compute on one GPU at the same time. Default: no, since they would take memory from each other.
    #[serde(default)]
    pub(super) share: bool,
    /// The controller's own deadline for one cell. Default: 10m.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "shape::Duration")]
    pub(super) cell_timeout: Option<At<String>>,
    /// Memory of one container, such as `2g`, or bytes; at least 6m. Default: no limit.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "shape::Size")]
    pub(super) memory: Option<At<String>>,
}
