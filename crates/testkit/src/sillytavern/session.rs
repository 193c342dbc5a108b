use std::time::Duration;

use ureq::Agent;
use ureq::http::Response;
use ureq::{Body, http};

use super::Answer;

/// One client session: a CSRF token and the cookies it is bound to.
#[derive(Debug)]
pub(super) struct Session {
    agent: Agent,
    base: String,
    cookies: String,
    token: String,
}

impl Session {
    /// Requests a token. `None` while nothing listens on the port, or if the status is not 200.
    pub(super) fn open(port: u16) -> Option<Self> {
        let agent = agent();
        let base = format!("http://127.0.0.1:{port}");
        let mut response = agent.get(format!("{base}/csrf-token")).call().ok()?;
        if response.status() != 200 {
            return None;
        }
        let cookies = cookies(&response);
        let answer = read(&mut response).ok()?;
        let token = answer.json()["token"].as_str()?.to_owned();
        Some(Self { agent, base, cookies, token })
    }

    pub(super) fn post(&self, path: &str, json: &str) -> Result<Answer, ureq::Error> {
        let request = self
            .agent
            .post(format!("{}{path}", self.base))
            .header("Cookie", &self.cookies)
            .header("X-CSRF-Token", &self.token)
            .header("Content-Type", "application/json");
        read(&mut request.send(json)?)
    }

    /// Posts as another site would: with the session's cookies, but without its token.
    pub(super) fn forge(&self, path: &str, json: &str) -> Result<Answer, ureq::Error> {
        let request = self
            .agent
            .post(format!("{}{path}", self.base))
            .header("Cookie", &self.cookies)
            .header("Content-Type", "application/json");
        read(&mut request.send(json)?)
    }
}

fn agent() -> Agent {
    Agent::config_builder()
        .http_status_as_error(false)
        .proxy(None)
        .timeout_global(Some(Duration::from_secs(120)))
        .build()
        .into()
}

fn cookies(response: &Response<Body>) -> String {
    let pairs: Vec<&str> = response
        .headers()
        .get_all(http::header::SET_COOKIE)
        .iter()
        .filter_map(|cookie| cookie.to_str().ok()?.split(';').next())
        .collect();
    pairs.join("; ")
}

fn read(response: &mut Response<Body>) -> Result<Answer, ureq::Error> {
    let status = response.status().as_u16();
    let bytes = response.body_mut().with_config().limit(u64::MAX).read_to_vec()?;
    let body = String::from_utf8(bytes).expect("SillyTavern answers in UTF-8");
    Ok(Answer { status, body })
}
