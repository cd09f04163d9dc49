//! Which model: from what was configured, or from what is there.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use harness_core::{Model, ModelId, ModelInfo};
use harness_providers::{Api, Dialect, Endpoint, HttpOptions, ProxyOptions, Scripted};

use crate::config_file::{DialectConfig, ModelConfig, ProviderConfig, nearest};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::named_file;
use crate::services::{self, LocalServers, SERVICES, Service};
use crate::settings::{Origin, Setting, Settings};

/// The model of a run, and how it was chosen.
pub(crate) struct Choice {
    pub(crate) target: Target,
    /// Why this one, in words that follow "because".
    pub(crate) because: String,
}

/// What is asked.
pub(crate) enum Target {
    /// The built-in demonstration.
    Demo,
    /// A script.
    Scripted(PathBuf),
    /// A service.
    Service(Box<ServiceTarget>),
    /// Nothing: the command only looks at the agent.
    Idle,
}

/// A model at a service.
pub(crate) struct ServiceTarget {
    pub(crate) api: Api,
    pub(crate) endpoint: Endpoint,
    pub(crate) info: ModelInfo,
    /// The variable that the key came from.
    pub(crate) key_variable: Option<String>,
    /// A configured model whose name is near, if this one is not configured.
    pub(crate) near: Option<String>,
}

impl Choice {
    /// Chooses: what was configured, else the first service whose key is there, else the first local
    /// server that answers, else the demonstration.
    pub(crate) async fn make(
        settings: &Settings,
        environment: &Environment,
        local: &LocalServers,
    ) -> Result<Self, Failure> {
        if let Some(model) = &settings.model {
            let because = format!("{} says so", model.origin);
            let target = Self::named(&model.value, settings, environment);
            let target = target.map_err(|failure| match model.origin {
                // Whoever typed it knows where it stands.
                Origin::Flag(_) => failure,
                _ => failure.about(&format!("the model comes from {}", model.origin)),
            })?;
            return Ok(Self { target, because });
        }
        if let Some(base_url) = &settings.base_url {
            return Err(
                Failure::usage(format!("{} is given, but no model", base_url.origin))
                    .hint("name it with --model PROVIDER/MODEL"),
            );
        }
        for service in SERVICES {
            let (Some(variable), Some(model)) = (service.key_variable, service.default_model)
            else {
                continue;
            };
            if environment.key(variable).is_some() {
                let name = format!("{}/{model}", service.name);
                let target = Self::named(&name, settings, environment)?;
                return Ok(Self {
                    target,
                    because: format!("{variable} is set"),
                });
            }
        }
        if let Some((service, model)) = find_local(settings, environment, local).await? {
            let name = format!("{}/{model}", service.name);
            let target = Self::named(&name, settings, environment)?;
            let because = format!("it answers at {}", service.base_url);
            return Ok(Self { target, because });
        }
        let because = "no model is configured, no key is set and no local server answers";
        Ok(Self {
            target: Target::Demo,
            because: because.to_owned(),
        })
    }

    /// The one of a name.
    pub(crate) fn of(
        name: &str,
        settings: &Settings,
        environment: &Environment,
    ) -> Result<Self, Failure> {
        Ok(Self {
            target: Self::named(name, settings, environment)?,
            because: "it was asked for".to_owned(),
        })
    }

    fn named(
        name: &str,
        settings: &Settings,
        environment: &Environment,
    ) -> Result<Target, Failure> {
        if name == "demo" {
            return Ok(Target::Demo);
        }
        if let Some(path) = name.strip_prefix("scripted:") {
            if path.is_empty() {
                return Err(
                    Failure::usage("`scripted:` names no file").hint("write it as scripted:FILE")
                );
            }
            return Ok(Target::Scripted(environment.expand_home(Path::new(path))));
        }
        let (provider, model) = match name.split_once('/') {
            Some((provider, model)) if !provider.is_empty() && !model.is_empty() => {
                (provider, model)
            }
            // With an address of its own, a model needs no provider's name.
            None if settings.base_url.is_some() => ("custom", name),
            _ => {
                return Err(Failure::usage(format!(
                    "`{name}` does not name a provider and a model"
                ))
                .hint("write it as PROVIDER/MODEL, such as openai/gpt-5"));
            }
        };
        let target = service_target(provider, model, settings, environment)?;
        Ok(Target::Service(Box::new(target)))
    }

    /// The model itself.
    pub(crate) fn model(&self) -> Result<Arc<dyn Model>, Failure> {
        let scripted = match &self.target {
            Target::Service(target) => return Ok(target.endpoint.model(target.info.clone())),
            Target::Demo => harness_providers::demo(),
            Target::Scripted(path) => Scripted::from_file(path),
            Target::Idle => Scripted::from_json(r#"{ "turns": [] }"#),
        };
        match scripted {
            Ok(model) => Ok(Arc::new(model)),
            Err(error) => Err(Failure::configuration(error.to_string())),
        }
    }
}

fn service_target(
    provider: &str,
    model: &str,
    settings: &Settings,
    environment: &Environment,
) -> Result<ServiceTarget, Failure> {
    let configured = settings.providers.get(provider);
    let known = services::service(provider);
    if configured.is_none() && known.is_none() && settings.base_url.is_none() {
        return Err(unknown_provider(provider, settings));
    }
    let config = configured
        .map(|setting| setting.value.clone())
        .unwrap_or_default();
    let model_config = config.models.get(model);
    // An address that was given by itself stands for itself: what is known of a service of that name
    // (its protocol aside) belongs to the service's own address.
    let own_address = settings.base_url.is_some() || config.base_url.is_some();
    let api = first(settings.api.as_ref(), config.api).or(known.map(|known| known.api));
    let base_url = first(settings.base_url.as_ref(), config.base_url.clone())
        .or(known.map(|known| known.base_url.to_owned()));
    let Some(base_url) = base_url else {
        return Err(
            Failure::configuration(format!("the provider `{provider}` has no base_url"))
                .hint("add it to its configuration, or pass --base-url"),
        );
    };
    let api = api.unwrap_or(Api::OpenAiChat);
    let key_variable = key_variable(settings, &config, known, own_address);
    let api_key = match &key_variable {
        None => None,
        Some(variable) => Some(environment.key(variable).ok_or_else(|| {
            Failure::configuration(format!("the variable {variable} is not set")).hint(format!(
                "put the key of `{provider}` there, or choose another --model"
            ))
        })?),
    };
    let dialect = dialect(provider, api, &base_url, model, &config, model_config)?;
    let mut endpoint = Endpoint::new(api)
        .provider(provider)
        .base_url(base_url)
        .api_key(api_key)
        .dialect(dialect)
        .http(http_options(settings, environment)?);
    // Headers, like the key, are meant for the address that they are configured with.
    if settings.base_url.is_none() {
        for (name, value) in &config.headers {
            endpoint = endpoint.header(name, value);
        }
    }
    // What is wrong is found now, not at the first request.
    endpoint
        .check()
        .map_err(|error| Failure::configuration(error.to_string()))?;
    let id = ModelId::new(provider, model);
    let info = model_config.map_or_else(
        || {
            let mut info = ModelInfo::new(id.clone());
            // Nothing is known of the model: take the person's word for it that it can think.
            info.thinking = settings.thinking.iter().map(|level| level.value).collect();
            info.images = known.is_some_and(|known| known.key_variable.is_some()) && !own_address;
            info
        },
        |config| config.info(id.clone()),
    );
    let near = match model_config {
        Some(_) => None,
        None => nearest(model, config.models.keys().map(String::as_str)),
    };
    Ok(ServiceTarget {
        api,
        endpoint,
        info,
        key_variable,
        near,
    })
}

fn first<T: Clone>(setting: Option<&Setting<T>>, configured: Option<T>) -> Option<T> {
    setting.map(|setting| setting.value.clone()).or(configured)
}

/// The variable of the key. An address that was given without one gets no key.
fn key_variable(
    settings: &Settings,
    config: &ProviderConfig,
    known: Option<&Service>,
    own_address: bool,
) -> Option<String> {
    if let Some(variable) = &settings.api_key_env {
        return Some(variable.value.clone());
    }
    if settings.base_url.is_some() {
        return None;
    }
    config.api_key_env.clone().or_else(|| {
        let variable = known.and_then(|known| known.key_variable)?;
        (!own_address).then(|| variable.to_owned())
    })
}

fn dialect(
    provider: &str,
    api: Api,
    base_url: &str,
    model: &str,
    config: &ProviderConfig,
    model_config: Option<&ModelConfig>,
) -> Result<Dialect, Failure> {
    let configured = model_config
        .and_then(|model| model.dialect.as_ref())
        .or(config.dialect.as_ref());
    match configured {
        Some(DialectConfig::Table(dialect)) => Ok((**dialect).clone()),
        Some(DialectConfig::Preset(name)) => name.parse().map_err(|_| {
            let failure = Failure::configuration(format!(
                "the provider `{provider}` has an unknown dialect `{name}`"
            ));
            match nearest(name, Dialect::presets()) {
                Some(near) => failure.hint(format!("did you mean `{near}`?")),
                None => failure,
            }
        }),
        // A server on this machine cannot be told by its host, but perhaps by its name.
        None if services::local().any(|service| service.name == provider) => Ok(provider
            .parse()
            .unwrap_or_else(|_| Dialect::guess(api, base_url, model))),
        None => Ok(Dialect::guess(api, base_url, model)),
    }
}

fn unknown_provider(provider: &str, settings: &Settings) -> Failure {
    let known = SERVICES.iter().map(|service| service.name);
    let names: Vec<&str> = settings
        .providers
        .keys()
        .map(String::as_str)
        .chain(known)
        .collect();
    let failure = Failure::usage(format!("there is no provider `{provider}`"));
    match nearest(provider, names.iter().copied()) {
        Some(near) => failure.hint(format!("did you mean `{near}`?")),
        None => failure.hint(format!(
            "the providers are {}; for another one pass --base-url, or configure it",
            names.join(", ")
        )),
    }
}

/// How requests are sent.
fn http_options(settings: &Settings, environment: &Environment) -> Result<HttpOptions, Failure> {
    let mut options = HttpOptions::default();
    let all = environment.text("ALL_PROXY");
    let excluded = environment.text("NO_PROXY").unwrap_or_default();
    let excluded = excluded.split([',', ' ']).map(str::trim);
    let proxy = ProxyOptions {
        http: environment.text("HTTP_PROXY").or_else(|| all.clone()),
        https: environment.text("HTTPS_PROXY").or(all),
        no_proxy: excluded
            .filter(|host| !host.is_empty())
            .map(str::to_owned)
            .collect(),
    };
    if proxy.http.is_some() || proxy.https.is_some() {
        options = options.proxy(proxy);
    }
    if let Some(Setting {
        value: path,
        origin,
    }) = &settings.ca_file
    {
        let path = environment.expand_home(path);
        let pem = named_file::read(&path).map_err(|error| {
            Failure::configuration(format!(
                "cannot read the certificates in {}: {error}",
                path.display()
            ))
            .hint(format!("the path comes from {origin}"))
        })?;
        options = options.extra_ca_pem(pem);
    }
    Ok(options)
}

/// The first local server that answers, and its first model.
async fn find_local(
    settings: &Settings,
    environment: &Environment,
    local: &LocalServers,
) -> Result<Option<(&'static Service, String)>, Failure> {
    let http = http_options(settings, environment)?.connect_timeout(local.wait);
    let asked = local.services.iter().map(|service| {
        let endpoint = Endpoint::new(service.api)
            .base_url(service.base_url)
            .http(http.clone());
        async move {
            let models = tokio::time::timeout(local.wait, endpoint.list_models()).await;
            let model = models.ok()?.ok()?.into_iter().next()?;
            Some((*service, model))
        }
    });
    // All at once, so that the wait is the same for one and for all; the order decides.
    let answers = futures::future::join_all(asked).await;
    Ok(answers.into_iter().flatten().next())
}

/// The names of the variables whose values children must not see.
pub(crate) fn secret_variables(settings: &Settings) -> Vec<String> {
    let configured = settings
        .providers
        .values()
        .filter_map(|provider| provider.value.api_key_env.clone())
        .chain(
            settings
                .api_key_env
                .iter()
                .map(|setting| setting.value.clone()),
        );
    Environment::key_variables()
        .map(str::to_owned)
        .chain(configured)
        .collect()
}

#[cfg(test)]
#[path = "model_choice_tests.rs"]
mod tests;
