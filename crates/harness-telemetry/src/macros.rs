//! The macro that makes a schema and its starters.

/// Declares a [`Schema`](crate::Schema), and makes a typed starter of each of its spans and a typed recorder
/// of each of its metrics.
///
/// ```
/// harness_telemetry::schema! {
///     /// What a shop does.
///     pub static SHOP = "shop", version 1;
///
///     /// One order, from the basket to the parcel.
///     span order(Order<'a>) -> Ordered = "order {item}" {
///         kind: Internal; level: Info; parents: [root];
///         start {
///             /// What was ordered.
///             item: &'a str = "shop.item", low;
///         }
///         end {
///             /// How many parcels it became.
///             parcels: u32 = "shop.parcels", low;
///         }
///     }
/// }
///
/// fn main() {
///     let span = order(Order { item: "tea" }).start();
///     span.end(Ordered { parcels: 1 });
/// }
/// ```
///
/// Leaving out `item` or `parcels`, or giving another type, does not compile.
///
/// Attributes are of the types that [`AttributeValue`](crate::AttributeValue) names: `&'a str`, `bool`, `f64`, `i64`,
/// `u64`, `u32`, `usize`, `&'a [&'a str]`, and an `Option` of each, for what may not be known.
///
/// A span has, in this order:
///
/// - its function, the struct of its required start attributes, the struct of its required end attributes, and
///   its title, in which the required start attributes may stand in braces;
/// - `kind`, a [`SpanKind`](crate::SpanKind); `level`, `Info` or `Debug`; `parents`, see
///   [`SpanSchema::parents`](crate::SpanSchema::parents);
/// - `always`, if there are any: attributes whose value is always the same text, as `name = key => "value";`;
/// - `start`, the required attributes at the start; then, if there are any, `start_optional`, which become
///   methods of the starter;
/// - `end`, the required attributes at the end; then, if there are any, `end_optional` (with a lifetime of its
///   own), which become methods of the span that is under way;
/// - `events`, if there are any: a method, a struct, and its attributes, of which those of type `Option` may
///   be missing;
/// - `error_when FIELD in ["value", …];` if an end attribute tells by its value that the span failed.
///
/// An attribute is a field, a type ([`AttributeValue`](crate::AttributeValue)), a key, `low` or `high` for its
/// [cardinality](crate::Cardinality), and `sensitive` if it is content. `error.type` need not be declared:
/// each span has it, for when it fails.
///
/// Metrics stand behind the spans, in `metrics { … }`: `module(Attributes<'a>) = "name", Histogram, "unit",
/// [buckets] { attributes }`, or `Counter, "unit", []`.
#[macro_export]
macro_rules! schema {
    (
        $(#[doc = $schema_doc:literal])*
        $vis:vis static $schema:ident = $name:literal, version $version:literal;
        $(
            $(#[doc = $span_doc:literal])*
            span $span:ident($start:ident $(<$start_lt:lifetime>)?) -> $end:ident $(<$end_lt:lifetime>)? = $title:literal {
                kind: $kind:ident; level: $level:ident; parents: [$($parent:ident),* $(,)?];
                $(always { $(
                    $(#[doc = $c_doc:literal])*
                    $c:ident = $c_key:expr => $c_value:literal;
                )* })?
                start { $(
                    $(#[doc = $s_doc:literal])*
                    $s:ident : $s_type:ty = $s_key:expr, $s_card:ident $($s_sens:ident)?;
                )* }
                $(start_optional { $(
                    $(#[doc = $so_doc:literal])*
                    $so:ident : $so_type:ty = $so_key:expr, $so_card:ident $($so_sens:ident)?;
                )* })?
                end { $(
                    $(#[doc = $e_doc:literal])*
                    $e:ident : $e_type:ty = $e_key:expr, $e_card:ident $($e_sens:ident)?;
                )* }
                $(end_optional $(<$eo_lt:lifetime>)? { $(
                    $(#[doc = $eo_doc:literal])*
                    $eo:ident : $eo_type:ty = $eo_key:expr, $eo_card:ident $($eo_sens:ident)?;
                )* })?
                $(events { $(
                    $(#[doc = $ev_doc:literal])*
                    $event:ident($event_type:ident $(<$event_lt:lifetime>)?) { $(
                        $(#[doc = $a_doc:literal])*
                        $a:ident : $a_type:ty = $a_key:expr, $a_card:ident $($a_sens:ident)?;
                    )* }
                )* })?
                $(error_when $rule:ident in [$($rule_value:literal),* $(,)?];)?
            }
        )*
        $(metrics { $(
            $(#[doc = $m_doc:literal])*
            $metric:ident($m_type:ident $(<$m_lt:lifetime>)?) = $m_name:expr, $instrument:ident, $unit:literal, [$($bucket:literal),* $(,)?] { $(
                $(#[doc = $ma_doc:literal])*
                $ma:ident : $ma_type:ty = $ma_key:expr, $ma_card:ident;
            )* }
        )* })?
    ) => {
        $(#[doc = $schema_doc])*
        $vis static $schema: $crate::Schema = $crate::Schema {
            name: $name,
            version: $version,
            description: concat!($($schema_doc),*),
            spans: &[$($span::SCHEMA),*],
            metrics: &[$($($metric::SCHEMA),*)?],
        };

        $(
            #[doc = concat!("What `", stringify!($span), "` starts with.")]
            #[derive(Clone, Copy, Debug)]
            $vis struct $start $(<$start_lt>)? { $(
                $(#[doc = $s_doc])*
                pub $s: $s_type,
            )* }

            #[doc = concat!("What `", stringify!($span), "` ends with.")]
            #[derive(Clone, Copy, Debug)]
            $vis struct $end $(<$end_lt>)? { $(
                $(#[doc = $e_doc])*
                pub $e: $e_type,
            )* }

            $($(
                $(#[doc = $ev_doc])*
                #[derive(Clone, Copy, Debug)]
                $vis struct $event_type $(<$event_lt>)? { $(
                    $(#[doc = $a_doc])*
                    pub $a: $a_type,
                )* }
            )*)?

            $(#[doc = $span_doc])*
            #[inline]
            $vis fn $span $(<$start_lt>)? (required: $start $(<$start_lt>)?) -> $span::Starter $(<$start_lt>)? {
                $span::Starter::new(required)
            }

            #[doc = concat!("The starter of `", stringify!($span), "`, and the span that is under way.")]
            $vis mod $span {
                #[allow(unused_imports, reason = "the types of attributes may be declared beside the schema")]
                use super::*;

                pub(super) const SCHEMA: $crate::SpanSchema = $crate::SpanSchema {
                    name: stringify!($span),
                    id: ID,
                    title: $title,
                    description: concat!($($span_doc),*),
                    kind: $crate::SpanKind::$kind,
                    level: $crate::SpanLevel::$level,
                    parents: &[$(stringify!($parent)),*],
                    always: &[$($($crate::FixedAttribute {
                        key: $c_key,
                        value: $c_value,
                        description: concat!($($c_doc),*),
                    },)*)?],
                    start: Starts::ALL,
                    end: Ends::ALL,
                    end_optional: Found::ALL,
                    events: &[$($($crate::EventSchema {
                        name: concat!($name, ".", stringify!($event)),
                        description: concat!($($ev_doc),*),
                        attributes: $event::Attributes::ALL,
                    },)*)?],
                    error_when: $crate::__error_when!(
                        $($rule [$($rule_value),*])? ; $($e = $e_key,)*
                    ),
                };

                const ID: &str = concat!($name, ".", stringify!($span));

                /// Where the fields of the end begin: behind three of OpenTelemetry's and those of the start.
                const AT_THE_END: usize = 3 + SCHEMA.always.len() + SCHEMA.start.len();

                $crate::__attributes!(Starts [$($start_lt)?]
                    $($s_type, true, $s_key, $s_card, [$($s_sens)?], [$($s_doc),*];)*
                    $($($so_type, false, $so_key, $so_card, [$($so_sens)?], [$($so_doc),*];)*)?
                );
                $crate::__attributes!(Ends [$($end_lt)?]
                    $($e_type, true, $e_key, $e_card, [$($e_sens)?], [$($e_doc),*];)*
                );
                $crate::__attributes!(Found [$($($eo_lt)?)?]
                    $($($eo_type, false, $eo_key, $eo_card, [$($eo_sens)?], [$($eo_doc),*];)*)?
                );
                $($(mod $event {
                    #[allow(unused_imports, reason = "as above")]
                    use super::*;

                    $crate::__attributes!(Attributes [$($event_lt)?]
                        $($a_type, true, $a_key, $a_card, [$($a_sens)?], [$($a_doc),*];)*
                    );
                })*)?

                /// Starts the span.
                #[derive(Clone, Debug)]
                #[must_use = "a starter does nothing until `start`"]
                pub struct Starter $(<$start_lt>)? {
                    required: $start $(<$start_lt>)?,
                    parent: $crate::__private::Parent,
                    $($($so: ::core::option::Option<$so_type>,)*)?
                }

                impl $(<$start_lt>)? Starter $(<$start_lt>)? {
                    #[inline]
                    pub(super) fn new(required: $start $(<$start_lt>)?) -> Self {
                        Self {
                            required,
                            parent: $crate::__private::Parent::default(),
                            $($($so: ::core::option::Option::None,)*)?
                        }
                    }

                    $($(
                        $(#[doc = $so_doc])*
                        #[inline]
                        pub fn $so(mut self, $so: impl Into<::core::option::Option<$so_type>>) -> Self {
                            self.$so = $so.into();
                            self
                        }
                    )*)?

                    /// Makes it a child of this span. By default, it is one of the span that the thread is in.
                    pub fn parent(mut self, parent: &$crate::__private::tracing::Span) -> Self {
                        self.parent = $crate::__private::Parent::of(parent);
                        self
                    }

                    /// Starts the span. With nobody to see it, that costs next to nothing.
                    #[inline]
                    pub fn start(self) -> Span {
                        #[allow(unused_variables, reason = "a span may have no attributes")]
                        let Self { required: $start { $($s),* }, parent, $($($so),*)? } = self;
                        Span($crate::Active::new($crate::__span!(
                            parent, $name, $level, $kind, ID, $title,
                            [$($($c_key => $c_value,)*)?]
                            [$($s_key => $s,)* $($($so_key => $so,)*)?]
                            [$($e_key,)* $($($eo_key,)*)?]
                        )))
                    }
                }

                /// The span that is under way.
                #[derive(Debug)]
                #[must_use = "a span that is dropped at once ends as an error"]
                pub struct Span($crate::Active);

                impl Span {
                    $($crate::__set_methods!([$($eo_lt)?] $(
                        [$(#[doc = $eo_doc])*] $eo : $eo_type = $eo_key;
                    )*);)?

                    $($(
                        $(#[doc = $ev_doc])*
                        pub fn $event $(<$event_lt>)? (&self, event: $event_type $(<$event_lt>)?) -> &Self {
                            #[allow(unused_variables, reason = "an event may have no attributes")]
                            let $event_type { $($a),* } = event;
                            if !self.0.span().is_disabled() {
                                $crate::__private::tracing::event!(
                                    name: concat!($name, ".", stringify!($event)),
                                    target: $name,
                                    parent: self.0.span(),
                                    $crate::__level!($level),
                                    { $({ $a_key } = $crate::AttributeValue::field(&$a),)* }
                                );
                            }
                            self
                        }
                    )*)?

                    /// Ends the span.
                    #[inline]
                    pub fn end $(<$end_lt>)? (self, end: $end $(<$end_lt>)?) {
                        self.finish(end, ::core::option::Option::None);
                    }

                    /// Ends the span as an error of this kind, a word out of few, with what there is to say.
                    pub fn end_with_error $(<$end_lt>)? (self, end: $end $(<$end_lt>)?, error: &str) {
                        self.finish(end, ::core::option::Option::Some(error));
                    }

                    #[inline]
                    fn finish $(<$end_lt>)? (
                        self,
                        end: $end $(<$end_lt>)?,
                        error: ::core::option::Option<&str>,
                    ) {
                        #[allow(unused_variables, reason = "a span may have no attributes")]
                        let $end { $($e),* } = end;
                        if !self.0.span().is_disabled() {
                            let error = error.or_else(|| $crate::__error!($($rule [$($rule_value),*])?));
                            $crate::__private::record_end(
                                self.0.span(),
                                AT_THE_END,
                                [
                                    &error,
                                    &error.map(|_| "ERROR"),
                                    $(&$crate::AttributeValue::field(&$e),)*
                                ],
                            );
                        }
                        self.0.finished();
                    }

                    /// Ends the span as an error of this kind, a word out of few, when there is nothing else to
                    /// say.
                    pub fn fail(self, error: &str) {
                        self.0.fail(error);
                    }
                }

                impl ::core::ops::Deref for Span {
                    type Target = $crate::Active;

                    fn deref(&self) -> &$crate::Active {
                        &self.0
                    }
                }
            }
        )*

        $($(
            $(#[doc = $m_doc])*
            #[derive(Clone, Copy, Debug)]
            $vis struct $m_type $(<$m_lt>)? { $(
                $(#[doc = $ma_doc])*
                pub $ma: $ma_type,
            )* }

            #[doc = concat!("The schema of [`", stringify!($m_type), "`].")]
            $vis mod $metric {
                #[allow(unused_imports, reason = "the types of attributes may be declared beside the schema")]
                use super::*;

                pub(super) const SCHEMA: $crate::MetricSchema = $crate::MetricSchema {
                    name: $m_name,
                    description: concat!($($m_doc),*),
                    unit: $unit,
                    instrument: $crate::Instrument::$instrument,
                    buckets: &[$($bucket),*],
                    attributes: Attributes::ALL,
                };

                pub(super) static METRIC: $crate::MetricSchema = SCHEMA;

                $crate::__attributes!(Attributes [$($m_lt)?]
                    $($ma_type, true, $ma_key, $ma_card, [], [$($ma_doc),*];)*
                );
            }

            impl $(<$m_lt>)? $m_type $(<$m_lt>)? {
                /// Records a value.
                pub fn record(&self, sink: &dyn $crate::MetricSink, value: f64) {
                    let all = [$(($ma_key, $crate::AttributeValue::metric(&self.$ma)),)*];
                    $crate::__private::record_metric(sink, &$metric::METRIC, value, all);
                }
            }
        )*)?
    };
}

/// The schemas of attributes. Their types may have a lifetime, which a constant has to be in the scope of.
#[doc(hidden)]
#[macro_export]
macro_rules! __attributes {
    ($holder:ident [$($lt:lifetime)?] $(
        $type:ty, $required:literal, $key:expr, $card:ident, [$($sens:ident)?], [$($doc:literal),*];
    )*) => {
        pub(super) struct $holder $(<$lt>(::core::marker::PhantomData<&$lt ()>))?;

        impl $(<$lt>)? $holder $(<$lt>)? {
            pub(super) const ALL: &'static [$crate::AttributeSchema] = &[$($crate::AttributeSchema {
                key: $key,
                kind: <$type as $crate::AttributeValue>::TYPE,
                required: $required && <$type as $crate::AttributeValue>::REQUIRED,
                cardinality: $crate::__cardinality!($card),
                sensitive: $crate::__sensitive!($($sens)?),
                description: concat!($($doc),*),
            }),*];
        }
    };
}

/// The methods that record optional attributes.
#[doc(hidden)]
#[macro_export]
macro_rules! __set_methods {
    ($generics:tt $([$($doc:tt)*] $name:ident : $type:ty = $key:expr;)*) => {$(
        $crate::__set_method!($generics [$($doc)*] $name : $type = $key);
    )*};
}

#[doc(hidden)]
#[macro_export]
macro_rules! __set_method {
    ([$($lt:lifetime)?] [$($doc:tt)*] $name:ident : $type:ty = $key:expr) => {
        $($doc)*
        #[allow(clippy::extra_unused_lifetimes, reason = "the lifetime is that of all of them")]
        #[inline]
        pub fn $name $(<$lt>)? (&self, $name: impl Into<::core::option::Option<$type>>) -> &Self {
            // One that nobody sees has its fields all the same.
            if let (false, ::core::option::Option::Some($name)) = (self.0.span().is_disabled(), $name.into()) {
                $crate::__private::tracing::record_all!(
                    self.0.span(),
                    { $key } = $crate::AttributeValue::field(&$name)
                );
            }
            self
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __cardinality {
    (low) => {
        $crate::Cardinality::Low
    };
    (high) => {
        $crate::Cardinality::High
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __sensitive {
    () => {
        false
    };
    (sensitive) => {
        true
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __level {
    (Info) => {
        $crate::__private::tracing::Level::INFO
    };
    (Debug) => {
        $crate::__private::tracing::Level::DEBUG
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __error {
    () => {
        ::core::option::Option::None
    };
    ($field:ident [$($value:literal),*]) => {
        [$($value),*].into_iter().find(|value| $crate::AttributeValue::is_text(&$field, value))
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __error_when {
    (; $($rest:tt)*) => {
        ::core::option::Option::None
    };
    ($field:ident [$($value:literal),*]; $($name:ident = $key:expr,)*) => {
        ::core::option::Option::Some($crate::ErrorRule {
            key: $crate::__private::key_of(stringify!($field), &[$((stringify!($name), $key)),*]),
            values: &[$($value),*],
        })
    };
}

/// The span of a starter. Twice the same but for the parent: `tracing` distinguishes at compile time.
#[doc(hidden)]
#[macro_export]
macro_rules! __span {
    (
        $parent:ident, $name:literal, $level:ident, $kind:ident, $id:expr, $title:literal,
        [$($always:expr => $fixed:literal,)*] [$($key:expr => $value:ident,)*] [$($end:expr,)*]
    ) => {
        match $parent.given() {
            ::core::option::Option::None => $crate::__private::tracing::span!(
                target: $name,
                $crate::__level!($level),
                $id,
                otel.name = $crate::__private::tracing::field::display(format_args!($title)),
                otel.kind = $crate::SpanKind::$kind.word(),
                otel.status_description = $crate::__private::tracing::field::Empty,
                $({ $always } = $fixed,)*
                $({ $key } = $crate::AttributeValue::field(&$value),)*
                "error.type" = $crate::__private::tracing::field::Empty,
                otel.status_code = $crate::__private::tracing::field::Empty,
                $({ $end } = $crate::__private::tracing::field::Empty,)*
            ),
            ::core::option::Option::Some(parent) => $crate::__private::tracing::span!(
                target: $name,
                parent: parent,
                $crate::__level!($level),
                $id,
                otel.name = $crate::__private::tracing::field::display(format_args!($title)),
                otel.kind = $crate::SpanKind::$kind.word(),
                otel.status_description = $crate::__private::tracing::field::Empty,
                $({ $always } = $fixed,)*
                $({ $key } = $crate::AttributeValue::field(&$value),)*
                "error.type" = $crate::__private::tracing::field::Empty,
                otel.status_code = $crate::__private::tracing::field::Empty,
                $({ $end } = $crate::__private::tracing::field::Empty,)*
            ),
        }
    };
}
