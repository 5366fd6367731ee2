"""Examples of a call, in curl, Python and JavaScript, ready to be pasted."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from .bodies import Body
from .highlight import BASE, KEYS, highlight, own
from .literals import JAVASCRIPT, PYTHON, laid_out


@dataclass(frozen=True)
class Call:
    """What an example does. The path is filled in; body and answer are None where there is none."""

    method: str
    path: str
    body: Body | None
    answer: Body | None

    @property
    def url(self) -> str:
        """The whole address."""
        return f"{BASE}{own('target', self.path)}"


@dataclass(frozen=True)
class Sample:
    """An example in one language."""

    language: str
    name: str
    code: Markup


def samples_of(call: Call) -> tuple[Sample, ...]:
    """Returns the examples of a call."""
    return (
        Sample("curl", "curl", highlight(_curl(call), "curl")),
        Sample("python", "Python", highlight(_python(call), "python")),
        Sample("javascript", "JavaScript", highlight(_javascript(call), "javascript")),
    )


def _curl(call: Call) -> str:
    body = call.body
    implied = "GET" if body is None else "POST"
    method = "" if call.method == implied else f"-X {own('method', call.method)} "
    key = f'-H "Authorization: Bearer {KEYS["curl"][0]}"'
    words = [f'curl {method}"{call.url}"', key + own("headers", "")]
    if body is not None:
        words.append(f'-H "Content-Type: {own("type", body.media_type)}"')
        words.append(_curl_body(body))
    return " \\\n  ".join(words)


def _curl_body(body: Body) -> str:
    if not body.is_json:
        return f"--data-binary @- <<'END'\n{own('body', body.text)}\nEND"
    text = body.text.replace("'", "'\\''").replace("\n", "\n  ")
    return f"-d '{own('body', text)}'"


def _python(call: Call) -> str:
    body, answer = call.body, call.answer
    headers = [f'"Authorization": "Bearer " + {KEYS["python"][0]},' + own("headers", "")]
    more = []
    if body is not None and body.is_json:
        more.append(f"json={own('body', laid_out(body.example, PYTHON, 1))},")
    elif body is not None:
        headers.append(f'"Content-Type": "{own("type", body.media_type)}",')
        row = own("row", "json.dumps(row)")
        more.append(f'data="".join({row} + "\\n" for row in rows),')
    if answer is not None and answer.has_records:
        more.append("stream=True,")
    is_text = any(each is not None and each.has_records for each in (body, answer))
    return "\n".join(
        [
            *(["import json"] if is_text else []),
            "import os",
            "",
            "import requests",
            "",
            *_rows(body),
            f"response = requests.{own('method', call.method.lower())}(",
            f'    "{call.url}",',
            "    headers={",
            *(f"        {header}" for header in headers),
            "    },",
            *(f"    {argument}" for argument in more),
            ")",
            *_python_answer(answer),
        ]
    )


def _rows(body: Body | None) -> list[str]:
    if body is None or body.is_json:
        return []
    return [f"rows = {own('body', laid_out(body.example, PYTHON))}"]


def _python_answer(answer: Body | None) -> list[str]:
    if answer is None:
        return ["print(response.status_code)"]
    if answer.has_records:
        return [
            "for line in response.iter_lines():",
            "    if line:",
            "        print(json.loads(line))",
        ]
    return ["print(response.status_code, response.json())"]


def _javascript(call: Call) -> str:
    body = call.body
    headers = [f'Authorization: "Bearer " + {KEYS["javascript"][0]},' + own("headers", "")]
    if body is not None:
        headers.append(f'"Content-Type": "{own("type", body.media_type)}",')
    return "\n".join(
        [
            f'const response = await fetch("{call.url}", {{',
            *([] if call.method == "GET" else [f'  method: "{own("method", call.method)}",']),
            "  headers: {",
            *(f"    {header}" for header in headers),
            "  },",
            *([] if body is None else [f"  body: {_javascript_body(body)},"]),
            "});",
            *_javascript_answer(call.answer),
        ]
    )


def _javascript_body(body: Body) -> str:
    text = own("body", laid_out(body.example, JAVASCRIPT, 1))
    if body.is_json:
        return f"JSON.stringify({text})"
    return f'{text}.map((row) => {own("row", "JSON.stringify(row)")}).join("\\n")'


def _javascript_answer(answer: Body | None) -> list[str]:
    if answer is None:
        return ["console.log(response.status);"]
    if answer.has_records:
        return [
            "for await (const text of response.body.pipeThrough(new TextDecoderStream())) {",
            "  process.stdout.write(text);",
            "}",
        ]
    return ["console.log(response.status, await response.json());"]
