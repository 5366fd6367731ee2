"""Code samples of a call in curl, Python, JavaScript and grpcurl, ready to be pasted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from .bodies import Body
from .documentation import Documentation
from .grpc_calls import GrpcCall
from .highlight import highlight, placeholder
from .literals import JAVASCRIPT, JSON, PYTHON, formatted


@dataclass(frozen=True)
class Call:
    """A call with example values; `message` is its request message on gRPC.

    A public call has no API key. One that sets a cookie states that it has the same origin, as a
    browser does, because it is rejected otherwise.
    """

    method: str
    path: str
    body: Body | None
    response: Body | None
    grpc: GrpcCall | None = None
    message: Any = None
    is_public: bool = False
    sets_cookie: bool = False

    @property
    def headers(self) -> dict[str, str]:
        """The headers besides the API key and the media type."""
        return {"Sec-Fetch-Site": "same-origin"} if self.is_public and self.sets_cookie else {}


@dataclass(frozen=True)
class Sample:
    """A code sample in one language."""

    language: str
    name: str
    code: Markup


def samples_of(call: Call, documentation: Documentation) -> tuple[Sample, ...]:
    """Returns the samples of a call."""
    url = placeholder("base", documentation.http_url) + placeholder("target", call.path)
    variable = documentation.key_variable
    samples = [
        ("curl", "curl", _curl(call, url, f"${variable}")),
        ("python", "Python", _python(call, url, f'os.environ["{variable}"]')),
        ("javascript", "JavaScript", _javascript(call, url, f"process.env.{variable}")),
    ]
    if call.grpc is not None:
        text = _grpcurl(call, call.grpc, documentation.grpc_address, f"${variable}")
        samples.append(("grpc", "gRPC", text))
    return tuple(Sample(key, name, highlight(text, key)) for key, name, text in samples)


def _curl(call: Call, url: str, key: str) -> str:
    body = call.body
    implied = "GET" if body is None else "POST"
    method = "" if call.method == implied else f"-X {placeholder('method', call.method)} "
    words = [f'curl {method}"{url}"']
    if not call.is_public:
        words.append(f'-H "Authorization: Bearer {placeholder("key", key)}"')
    words += [f'-H "{name}: {value}"' for name, value in call.headers.items()]
    words[-1] += placeholder("headers", "")
    if body is not None:
        words.append(f'-H "Content-Type: {placeholder("type", body.media_type)}"')
        words.append(_curl_body(body))
    return " \\\n  ".join(words)


def _curl_body(body: Body) -> str:
    if not body.is_json:
        return f"--data-binary @- <<'END'\n{placeholder('body', body.text)}\nEND"
    return f"-d '{placeholder('body', _in_quotes(body.text))}'"


def _grpcurl(call: Call, grpc: GrpcCall, address: str, key: str) -> str:
    words = ["grpcurl -plaintext"]
    if not call.is_public:
        words.append(f'-H "authorization: Bearer {placeholder("key", key)}"')
    if call.message:
        words.append(f"-d '{placeholder('message', _in_quotes(formatted(call.message, JSON)))}'")
    return " \\\n  ".join([*words, f"{address} {grpc.method}"])


def _in_quotes(text: str) -> str:
    """Returns text for a single-quoted word of an indented shell command."""
    return text.replace("'", "'\\''").replace("\n", "\n  ")


def _python(call: Call, url: str, key: str) -> str:
    body, response = call.body, call.response
    headers = [f'"{name}": "{value}",' for name, value in call.headers.items()]
    if not call.is_public:
        headers.append(f'"Authorization": "Bearer " + {placeholder("key", key)},')
    more = []
    if body is not None and body.is_json:
        more.append(f"json={placeholder('body', formatted(body.example, PYTHON, 1))},")
    elif body is not None:
        headers.append(f'"Content-Type": "{placeholder("type", body.media_type)}",')
        row = placeholder("row", "json.dumps(row)")
        more.append(f'data="".join({row} + "\\n" for row in rows),')
    if response is not None and response.has_records:
        more.append("stream=True,")
    uses_json = any(item is not None and item.has_records for item in (body, response))
    return "\n".join(
        [
            *(["import json"] if uses_json else []),
            *([] if call.is_public else ["import os"]),
            *([""] if uses_json or not call.is_public else []),
            "import requests",
            "",
            *_rows(body),
            f"response = requests.{placeholder('method', call.method.lower())}(",
            f'    "{url}",',
            *_headers("    headers={", headers),
            *(f"    {argument}" for argument in more),
            ")",
            *_python_response(response),
        ]
    )


def _headers(start: str, headers: list[str]) -> list[str]:
    """Returns the lines of an object with headers. Those of the form follow the first one."""
    if not headers:
        return [f"{start}{placeholder('headers', '')}}},"]
    indent = " " * (len(start) - len(start.lstrip()))
    first, *others = headers
    lines = [first + placeholder("headers", ""), *others]
    return [start, *(f"{indent * 2}{line}" for line in lines), f"{indent}}},"]


def _rows(body: Body | None) -> list[str]:
    if body is None or body.is_json:
        return []
    return [f"rows = {placeholder('body', formatted(body.example, PYTHON))}"]


def _python_response(response: Body | None) -> list[str]:
    if response is None:
        return ["print(response.status_code)"]
    if response.has_records:
        return [
            "for line in response.iter_lines():",
            "    if line:",
            "        print(json.loads(line))",
        ]
    content = "json()" if response.is_json else "text"
    return [f"print(response.status_code, response.{content})"]


def _javascript(call: Call, url: str, key: str) -> str:
    body = call.body
    headers = [f'"{name}": "{value}",' for name, value in call.headers.items()]
    if not call.is_public:
        headers.append(f'Authorization: "Bearer " + {placeholder("key", key)},')
    if body is not None:
        headers.append(f'"Content-Type": "{placeholder("type", body.media_type)}",')
    method = f'  method: "{placeholder("method", call.method)}",'
    return "\n".join(
        [
            f'const response = await fetch("{url}", {{',
            *([] if call.method == "GET" else [method]),
            *_headers("  headers: {", headers),
            *([] if body is None else [f"  body: {_javascript_body(body)},"]),
            "});",
            *_javascript_response(call.response),
        ]
    )


def _javascript_body(body: Body) -> str:
    text = placeholder("body", formatted(body.example, JAVASCRIPT, 1))
    if body.is_json:
        return f"JSON.stringify({text})"
    return f'{text}.map((row) => {placeholder("row", "JSON.stringify(row)")}).join("\\n")'


def _javascript_response(response: Body | None) -> list[str]:
    if response is None:
        return ["console.log(response.status);"]
    if response.has_records:
        return [
            "for await (const text of response.body.pipeThrough(new TextDecoderStream())) {",
            "  process.stdout.write(text);",
            "}",
        ]
    content = "json" if response.is_json else "text"
    return [f"console.log(response.status, await response.{content}());"]
