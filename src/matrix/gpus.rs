//! What `docker run --gpus` takes, as one device request.
//!
//! The command line reads its value as CSV, so that ids need quotes inside of quotes, and `device=0,1` without them asks
//! for device 0 and a count of 1, which the engine then refuses. In a matrix a field without `=` goes on with the list
//! before it: `device=0,1` means both. Quoted CSV fields are taken too, so that a line can be copied from a terminal; what
//! follows a closing quote is a field of its own, as it is there.

use crate::model::Grant;

#[derive(Default)]
struct Request {
    driver: Option<String>,
    count: Option<i64>,
    ids: Vec<String>,
    capabilities: Vec<String>,
}

/// What the last field left open: a list that a field without `=` continues.
#[derive(Clone, Copy)]
enum Open {
    Nothing,
    Ids,
    Capabilities,
}

/// One field between commas; quoted, it may hold commas itself.
struct Field {
    text: String,
    quoted: bool,
}

/// Reads the value; the error is why it cannot be, and the way out.
pub(super) fn parse(text: &str) -> Result<Grant, (String, &'static str)> {
    const FORMS: &str =
        "give `all`, a number, `device=0,1`, `device=UUID`, `driver=NAME`, `capabilities=A,B`, or several";
    let mut request = Request::default();
    let mut open = Open::Nothing;
    for field in fields(text).map_err(|why| (why, FORMS))? {
        open = request.take_field(&field, open).map_err(|why| (why, FORMS))?;
    }
    request.finish()
}

/// Quotes may stand around a field, as CSV has them, or around its value, as a shell would take them away.
fn fields(text: &str) -> Result<Vec<Field>, String> {
    let mut fields = vec![Field { text: String::new(), quoted: false }];
    let mut inside = false;
    for letter in text.chars() {
        let Some(field) = fields.last_mut() else { break };
        match letter {
            '"' => {
                inside = !inside;
                field.quoted = true;
            }
            ',' if !inside => fields.push(Field { text: String::new(), quoted: false }),
            letter => field.text.push(letter),
        }
    }
    if inside { Err("a quote is not closed".to_owned()) } else { Ok(fields) }
}

impl Request {
    fn take_field(&mut self, field: &Field, open: Open) -> Result<Open, String> {
        let mut open = if field.quoted { Open::Nothing } else { open };
        for (number, part) in field.text.split(',').map(str::trim).enumerate() {
            if part.is_empty() {
                return Err("it has an empty field".to_owned());
            }
            // An id may hold `=` itself, as the name of a CDI device does.
            open = if number > 0 { self.go_on(part, open)? } else { self.take(part, open)? };
        }
        Ok(if field.quoted { Open::Nothing } else { open })
    }

    fn go_on(&mut self, item: &str, open: Open) -> Result<Open, String> {
        match open {
            Open::Nothing => return Err(format!("`{item}` belongs to no list")),
            Open::Ids => self.ids.push(item.to_owned()),
            Open::Capabilities => self.capabilities.push(item.to_owned()),
        }
        Ok(open)
    }

    fn take(&mut self, field: &str, open: Open) -> Result<Open, String> {
        let Some((key, value)) = field.split_once('=') else {
            return match open {
                Open::Nothing => self.set_count(field).map(|()| open),
                Open::Ids | Open::Capabilities => self.go_on(field, open),
            };
        };
        if value.is_empty() {
            return Err(format!("there is nothing after `{key}=`"));
        }
        match key {
            "count" => self.set_count(value)?,
            "driver" if self.driver.is_none() => self.driver = Some(value.to_owned()),
            "device" if self.ids.is_empty() => {
                self.ids.push(value.to_owned());
                return Ok(Open::Ids);
            }
            "capabilities" if self.capabilities.is_empty() => {
                self.capabilities.push(value.to_owned());
                return Ok(Open::Capabilities);
            }
            "driver" | "device" | "capabilities" => return Err(format!("`{key}` is given twice")),
            "options" => return Err("`options` is not carried by this version".to_owned()),
            other => return Err(format!("`{other}` is no key of it")),
        }
        Ok(Open::Nothing)
    }

    fn set_count(&mut self, text: &str) -> Result<(), String> {
        let count = match text {
            "all" | "-1" => -1,
            number => match number.parse::<u16>() {
                // The engine takes 0 for "none", starts the container without a GPU, and says nothing.
                Ok(0) => return Err("a count of 0 exposes no GPU".to_owned()),
                Ok(count) => i64::from(count),
                Err(_) => return Err(format!("`{number}` is neither `all` nor a number")),
            },
        };
        match self.count.replace(count) {
            None => Ok(()),
            Some(_) => Err("it has two counts".to_owned()),
        }
    }

    fn finish(self) -> Result<Grant, (String, &'static str)> {
        if self.count.is_some() && !self.ids.is_empty() {
            let why = "it has both a count and device ids, which an engine refuses".to_owned();
            return Err((why, "give the ids alone: `device=0,1`"));
        }
        let count = match (self.count, self.ids.is_empty()) {
            (Some(count), _) => count,
            // As the command line does where neither is given.
            (None, true) => 1,
            (None, false) => 0,
        };
        let capabilities = self.capabilities.into_iter().filter(|name| name != "gpu").collect();
        Ok(Grant::DeviceRequest {
            driver: self.driver.unwrap_or_default(),
            count,
            ids: self.ids,
            capabilities,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::parse;
    use crate::model::Grant;

    fn shown(text: &str) -> String {
        match parse(text) {
            Ok(Grant::DeviceRequest { driver, count, ids, capabilities }) => {
                format!("{driver}|{count}|{}|{}", ids.join(" "), capabilities.join(" "))
            }
            Ok(other) => format!("{other:?}"),
            Err((why, _)) => why,
        }
    }

    #[test]
    fn forms_of_the_command_line() {
        assert_eq!(shown("all"), "|-1||");
        assert_eq!(shown("2"), "|2||");
        assert_eq!(shown("count=2"), "|2||");
        assert_eq!(shown("device=1"), "|0|1|");
        assert_eq!(shown("\"device=0,1\""), "|0|0 1|");
        assert_eq!(shown("device=GPU-5f2a,MIG-GPU-1/1/0"), "|0|GPU-5f2a MIG-GPU-1/1/0|");
        assert_eq!(shown("\"capabilities=compute,utility\""), "|1||compute utility");
        assert_eq!(shown("all,capabilities=gpu,compute"), "|-1||compute");
        assert_eq!(shown("driver=amd,count=all"), "amd|-1||");
        assert_eq!(shown("device=0,2,driver=nvidia"), "nvidia|0|0 2|");
        assert_eq!(shown("-1"), "|-1||");
        assert_eq!(shown("\"capabilities=compute,utility\",2"), "|2||compute utility");
        assert_eq!(shown("count=all,\"capabilities=compute,utility\""), "|-1||compute utility");
        assert_eq!(shown("driver=cdi,\"device=a.b/gpu=0,a.b/gpu=1\""), "cdi|0|a.b/gpu=0 a.b/gpu=1|");
        assert_eq!(
            shown("device=MIG-41b2c3d4-0000-5000-8000-000000000001"),
            "|0|MIG-41b2c3d4-0000-5000-8000-000000000001|"
        );
    }

    #[test]
    fn quotes_that_a_shell_would_have_needed_are_not() {
        assert_eq!(shown("device=0,1"), shown("\"device=0,1\""));
        assert_eq!(shown("device=0,1"), shown("device=\"0,1\""));
    }

    #[test]
    fn what_cannot_be_is_named() {
        assert!(shown("").contains("empty"));
        assert!(shown("0").contains("no GPU"));
        assert!(shown("-2").contains("neither"));
        assert!(shown("some").contains("neither"));
        assert!(shown("all,2").contains("two counts"));
        assert!(shown("all,device=0").contains("both"));
        assert!(shown("device=").contains("nothing after"));
        assert!(shown("\"device=0,1").contains("not closed"));
        assert!(shown("\"device=0,1\",2").contains("both"));
        assert!(shown("\"all,2\"").contains("no list"));
        assert!(shown("\"device=0,\"").contains("empty"));
        assert!(shown("devices=0").contains("`devices`"));
        assert!(shown("device=0,driver=a,device=1").contains("twice"));
    }
}
