//! `record`: a transparent proxy, whose recordings are judged and repeated.

mod http;
mod kit;
mod proxy;
mod replay;
