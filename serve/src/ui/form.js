// A form for the arguments of a tool, from its input schema. Values without a simple control are entered as JSON.

// A schema behind references within the document; nothing else is resolved.
const resolved = (schema, root) => {
  let found = schema;
  for (let steps = 0; steps < 8 && typeof found?.$ref === "string"; steps += 1) {
    if (!found.$ref.startsWith("#/")) return {};
    const keys = found.$ref.slice(2).split("/").map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~"));
    found = keys.reduce((at, key) => (at && Object.hasOwn(at, key) ? at[key] : undefined), root);
  }
  return found && typeof found === "object" ? found : {};
};

const controlType = (schema) => {
  const values = "const" in schema ? [schema.const] : schema.enum;
  if (Array.isArray(values) && values.length > 0) return "enum";
  const types = [schema.type].flat().filter((type) => type !== "null");
  return types.length === 1 && ["string", "number", "integer", "boolean"].includes(types[0]) ? types[0] : "json";
};

const shownType = (schema, type) => (type === "json" ? `${[schema.type].flat().filter(Boolean).join(" or ") || "any"}, as JSON` : type);

const choice = (id, values, chosen) => {
  const select = element("select", { id }, element("option", { value: "" }, "not set"));
  values.forEach((value, position) => {
    const text = typeof value === "string" ? value : JSON.stringify(value);
    const option = element("option", { value: String(position) }, text);
    option.selected = chosen !== undefined && JSON.stringify(value) === JSON.stringify(chosen);
    select.append(option);
  });
  return { control: select, read: () => values[Number(select.value)], isEmpty: () => select.value === "" };
};

const entry = (id, schema, type) => {
  const attributes = { id, autocomplete: "off", spellcheck: "false" };
  const control = type === "json" ? element("textarea", { ...attributes, rows: "3" }) : element("input", { ...attributes, inputmode: type === "string" ? undefined : "decimal" });
  if (schema.default !== undefined) control.value = type === "string" ? String(schema.default) : JSON.stringify(schema.default, null, type === "json" ? 2 : 0);
  const read = () => {
    const text = control.value;
    if (type === "string") return text;
    if (type === "json") {
      try {
        return JSON.parse(text);
      } catch (error) {
        throw new Error(`not JSON: ${error.message}`);
      }
    }
    const number = Number(text);
    if (!Number.isFinite(number) || text.trim() === "") throw new Error("not a number");
    if (type === "integer" && !Number.isInteger(number)) throw new Error("not an integer");
    return number;
  };
  return { control, read, isEmpty: () => control.value === "" };
};

// One argument: its label, control and error.
const argument = (name, raw, root, isRequired, id) => {
  const schema = resolved(raw, root);
  const type = controlType(schema);
  const hint = raw?.description ?? schema.description;
  const { control, read, isEmpty } =
    type === "enum" ? choice(id, "const" in schema ? [schema.const] : schema.enum, schema.default)
    : type === "boolean" ? choice(id, [true, false], schema.default)
    : entry(id, schema, type);
  if (isRequired) control.setAttribute("aria-required", "true");
  control.setAttribute("aria-describedby", `${id}-hint ${id}-error`);
  const error = element("p", { class: "error", id: `${id}-error` });
  const label = element("label", { for: id }, name, " ", element("span", { class: "type" }, shownType(schema, type)), " ",
    isRequired ? element("span", { class: "required" }, "required") : undefined);
  const row = element("div", {}, label, control, element("p", { class: "hint", id: `${id}-hint` }, typeof hint === "string" ? hint : ""), error);
  const fail = (message) => {
    error.textContent = message;
    if (message) control.setAttribute("aria-invalid", "true");
    else control.removeAttribute("aria-invalid");
    return message;
  };
  // The entry of the argument, nothing, or an error.
  const take = () => {
    fail("");
    // An empty text is a value where a text is required.
    if (isEmpty() && !(isRequired && type === "string")) return isRequired ? { error: fail("a value is required") } : {};
    try {
      return { entry: [name, read()] };
    } catch (cause) {
      return { error: fail(cause.message) };
    }
  };
  return { row, take, control };
};

// The fields of a schema, and `read`, which returns the arguments, or nothing if a value is invalid. `prefix` begins their ids.
const argumentFields = (schema, prefix = "argument") => {
  const properties = schema?.properties && typeof schema.properties === "object" ? schema.properties : {};
  const required = Array.isArray(schema?.required) ? schema.required : [];
  const entries = Object.entries(properties);
  if (entries.length === 0) {
    if (schema?.additionalProperties === false || !(schema?.additionalProperties || schema?.anyOf || schema?.oneOf || schema?.allOf || schema?.$ref)) {
      return { rows: [element("p", { class: "note" }, "The tool has no arguments.")], read: () => ({}) };
    }
    const whole = argument("arguments", { description: "All arguments, as a JSON object" }, schema, false, `${prefix}-0`);
    return { rows: [whole.row], read: () => readAll([whole], (found) => (found.length ? found[0][1] : {})) };
  }
  const fields = entries.map(([name, raw], position) => argument(name, raw, schema, required.includes(name), `${prefix}-${position}`));
  return { rows: fields.map((one) => one.row), read: () => readAll(fields, Object.fromEntries) };
};

const readAll = (fields, combine) => {
  const taken = fields.map((one) => one.take());
  const wrong = taken.findIndex((one) => one.error);
  if (wrong >= 0) {
    fields[wrong].control.focus();
    return undefined;
  }
  return combine(taken.flatMap((one) => (one.entry ? [one.entry] : [])));
};
