import { isObject, type JsonObject } from '../../../kernel/json.ts';
import { type Check, type Complaint, complain, within } from '../complaint.ts';
import { arrayOf, boolean, functionName, object, oneOf, optional, required, string } from '../field-rules.ts';

const toolsMax = 128;

const functionDefinition: Check = (value) => {
  if (!isObject(value)) return complain('', value, "an object with 'name'");
  return (
    required(value, 'name', functionName, 'the name of the function') ??
    optional(value, 'description', string) ??
    optional(value, 'parameters', object) ??
    optional(value, 'strict', boolean)
  );
};

const customDefinition: Check = (value) => {
  if (!isObject(value)) return complain('', value, "an object with 'name'");
  return (
    required(value, 'name', functionName, 'the name of the tool') ??
    optional(value, 'description', string) ??
    optional(value, 'format', object)
  );
};

const tool: Check = (value) => {
  if (!isObject(value)) return complain('', value, "an object with 'type' and 'function'");
  if (value.type === 'custom') return required(value, 'custom', customDefinition, "an object with 'name'");
  if (value.type !== 'function') return complain('type', value.type, "'function' or 'custom'");
  return required(value, 'function', functionDefinition, "an object with 'name', 'description' and 'parameters'");
};

export const tools = arrayOf(tool, 0, toolsMax, 'tools');
export const functions = arrayOf(functionDefinition, 1, toolsMax, 'functions');

const named: Check = (value) =>
  isObject(value)
    ? required(value, 'name', functionName, 'the name of a tool')
    : complain('', value, "an object with 'name'");

const allowedTools: Check = (value) =>
  isObject(value)
    ? (required(value, 'mode', oneOf('auto', 'required'), "'auto' or 'required'") ??
      required(value, 'tools', arrayOf(object, 0, toolsMax, 'tools'), 'the tools to choose from'))
    : complain('', value, "an object with 'mode' and 'tools'");

const choiceSend = `'none', 'auto', 'required' or {"type":"function","function":{"name":…}}`;

export const toolChoice: Check = (value) => {
  if (value === 'none' || value === 'auto' || value === 'required') return null;
  if (!isObject(value)) return complain('', value, choiceSend);
  switch (value.type) {
    case 'function':
      return required(value, 'function', named, "an object with 'name'");
    case 'custom':
      return required(value, 'custom', named, "an object with 'name'");
    case 'allowed_tools':
      return required(value, 'allowed_tools', allowedTools, "an object with 'mode' and 'tools'");
    default:
      return complain('type', value.type, "'function', 'custom' or 'allowed_tools'");
  }
};

export const functionCallChoice: Check = (value) => {
  if (value === 'none' || value === 'auto') return null;
  return isObject(value) ? named(value) : complain('', value, `'none', 'auto' or {"name":…}`);
};

const jsonSchema: Check = (value) =>
  isObject(value)
    ? (required(value, 'name', functionName, 'a name for the format') ??
      optional(value, 'schema', object) ??
      optional(value, 'description', string) ??
      optional(value, 'strict', boolean))
    : complain('', value, "an object with 'name' and 'schema'");

export const responseFormat: Check = (value) => {
  const send = `{"type":"text"}, {"type":"json_object"} or {"type":"json_schema","json_schema":{…}}`;
  if (!isObject(value)) return complain('', value, send);
  switch (value.type) {
    case 'text':
    case 'json_object':
      return null;
    case 'json_schema':
      return required(value, 'json_schema', jsonSchema, "an object with 'name' and 'schema'");
    default:
      return complain('type', value.type, "'text', 'json_object' or 'json_schema'");
  }
};

/** A choice that forces a tool needs that tool: an upstream's own complaint would come late and name less. */
export function choiceFitsTools(body: JsonObject): Complaint | null {
  const choice = body.tool_choice;
  const forced = choice === 'required' || isObject(choice);
  if (!forced) return null;
  const offered = Array.isArray(body.tools) ? body.tools : [];
  if (offered.length === 0) return complain('tools', undefined, "the tools that 'tool_choice' is to choose from");
  if (!isObject(choice) || (choice.type !== 'function' && choice.type !== 'custom')) return null;
  const kind = choice.type;
  const wanted = nameIn(choice, kind);
  const names = offered.map((offer) => (isObject(offer) ? nameIn(offer, kind) : null));
  if (names.includes(wanted)) return null;
  return within('tool_choice', complain(`${kind}.name`, wanted ?? undefined, "the name of one of 'tools'"));
}

function nameIn(holder: JsonObject, kind: string): string | null {
  const inner = holder[kind];
  return isObject(inner) && typeof inner.name === 'string' ? inner.name : null;
}
