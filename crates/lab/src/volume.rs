//! Volumes of the class `sized`, which really fill up: filled to the last byte, freed, and grown.

use serde_json::{Value, json};

use crate::{
    api::Api,
    error::{Error, Result},
    lab::Lab,
    process::run,
    provisioner::Directory,
};

/// The file that fills a volume.
const FILL: &str = ".lab-fill";

/// A claim of the class `sized`, found.
struct Sized {
    node: String,
    path: String,
    volume: String,
}

impl Lab {
    /// Fills the volume of a claim (`namespace/name`, class `sized`) to the last byte.
    pub fn fill_volume(&self, claim: &str) -> Result<()> {
        let volume = self.sized(claim)?;
        // cat ends with "No space left on device": that is what is wanted, and any other end is not.
        let script = r#"cat /dev/zero 2>&1 > "$1" | grep -q 'No space left'"#;
        let mut command = self.in_node(&volume.node)?;
        run(command.args(["sh", "-c", script, "fill", &format!("{}/{FILL}", volume.path)])).map(drop)
    }

    /// Ends [`Self::fill_volume`].
    pub fn free_volume(&self, claim: &str) -> Result<()> {
        let volume = self.sized(claim)?;
        run(self.in_node(&volume.node)?.args(["rm", "-f", &format!("{}/{FILL}", volume.path)])).map(drop)
    }

    /// Makes the volume of a claim larger while it is in use, and says so in claim and volume, as an expander would.
    pub fn grow_volume(&self, claim: &str, size: &str) -> Result<()> {
        let bytes =
            bytes(size).ok_or_else(|| Error::Refused(format!("{size} is no size: try 64Mi or 1Gi")))?;
        let volume = self.sized(claim)?;
        let mut mount = self.in_node(&volume.node)?;
        run(mount.args(["mount", "-o", &format!("remount,size={bytes}"), &volume.path]))?;
        let (namespace, name) = split(claim)?;
        let claim = format!("/api/v1/namespaces/{namespace}/persistentvolumeclaims/{name}");
        let api = Api::of(self);
        api.patch(&claim, &json!({"spec": {"resources": {"requests": {"storage": size}}}}))?;
        api.patch(
            &format!("/api/v1/persistentvolumes/{}", volume.volume),
            &json!({"spec": {"capacity": {"storage": size}}}),
        )?;
        api.patch(&format!("{claim}/status"), &json!({"status": {"capacity": {"storage": size}}}))
    }

    fn sized(&self, claim: &str) -> Result<Sized> {
        let (namespace, name) = split(claim)?;
        let api = Api::of(self);
        let object = api.object(&format!("/api/v1/namespaces/{namespace}/persistentvolumeclaims/{name}"))?;
        let text =
            |object: &Value, path: &str| object.pointer(path).and_then(Value::as_str).map(String::from);
        let class = text(&object, "/spec/storageClassName").unwrap_or_default();
        if class != "sized" {
            return Err(Error::Refused(format!(
                "claim {claim} is of class {class}: only volumes of class sized have a size"
            )));
        }
        let Some(volume) = text(&object, "/spec/volumeName") else {
            return Err(Error::Refused(format!(
                "claim {claim} has no volume yet: it gets one with its first pod"
            )));
        };
        let object = api.object(&format!("/api/v1/persistentvolumes/{volume}"))?;
        match Directory::of(&object) {
            Some(Directory { path, node: Some(node) }) => Ok(Sized { node, path, volume }),
            _ => Err(Error::Refused(format!("volume {volume} of claim {claim} is not bound to a node"))),
        }
    }
}

fn split(claim: &str) -> Result<(&str, &str)> {
    claim.split_once('/').ok_or_else(|| Error::Refused(format!("{claim} is no claim: write NAMESPACE/NAME")))
}

/// A quantity with a binary suffix, or plain.
pub(crate) fn bytes(size: &str) -> Option<u64> {
    let units = [("Ki", 10), ("Mi", 20), ("Gi", 30)];
    let (number, shift) =
        units.iter().find_map(|(unit, shift)| Some((size.strip_suffix(unit)?, *shift))).unwrap_or((size, 0));
    number.parse::<u64>().ok()?.checked_mul(1 << shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_kubernetes_does() {
        for (text, size) in [
            ("16Mi", Some(16 << 20)),
            ("1Gi", Some(1 << 30)),
            ("512", Some(512)),
            ("much", None),
            ("-1Ki", None),
        ] {
            assert_eq!(bytes(text), size, "{text}");
        }
    }
}
