// Builds a request from a form: its method, target, headers and body.

const valueOf = (form, name) => form.elements.namedItem(name)?.value ?? "";

// Path fields are required to send a form. In the samples, an empty one shows its example.
function targetOf(form) {
  let path = form.dataset.path;
  const query = new URLSearchParams();
  for (const field of all("[data-location]", form)) {
    if (field.dataset.location === "path") {
      const value = field.value || field.dataset.example;
      path = path.replace(`{${field.name}}`, () => encodeURIComponent(value));
    } else if (field.dataset.location === "query" && field.value) {
      query.append(field.name, field.value);
    }
  }
  return query.size ? `${path}?${query}` : path;
}

// Returns the headers that have a value.
function customHeadersOf(form) {
  const fields = all('[data-location="header"]', form).filter((field) => field.value);
  return fields.map((field) => [field.name, field.value]);
}

function requestOf(form) {
  const headers = new Headers(customHeadersOf(form));
  if (apiKey() && !form.dataset.public) headers.set("Authorization", `Bearer ${apiKey()}`);
  if (form.elements.namedItem("body")) headers.set("Content-Type", valueOf(form, "type"));
  return new Request(targetOf(form), {
    method: valueOf(form, "method"),
    headers,
    body: form.elements.namedItem("body")?.value,
    cache: "no-store",
    credentials: "omit",
    referrerPolicy: "no-referrer",
  });
}

// Returns the example bodies, one per media type. Form fields do not keep carriage returns.
function examplesOf(form) {
  const options = [...(form.elements.namedItem("type").options ?? [])];
  return options.map((option) => option.dataset.example.replaceAll("\r\n", "\n"));
}
