import { isObject, type JsonObject } from '../../../kernel/json.ts';
import { type Check, type Complaint, complain, within } from '../complaint.ts';
import { arrayOf, boolean, object, oneOf, optional, required, string, stringOf } from '../field-rules.ts';

/** Codex and its servers bring more than chat's 128. */
const toolsMax = 1_024;
const toolName = stringOf(1, 128);

const tool: Check = (value) => {
  if (!isObject(value) || typeof value.type !== 'string') {
    return complain(isObject(value) ? 'type' : '', isObject(value) ? value.type : value, "a string such as 'function'");
  }
  switch (value.type) {
    case 'function':
      return (
        required(value, 'name', toolName, 'the name of the function') ??
        optional(value, 'description', string) ??
        optional(value, 'parameters', object) ??
        optional(value, 'strict', boolean)
      );
    case 'custom':
      return (
        required(value, 'name', toolName, 'the name of the tool') ??
        optional(value, 'description', string) ??
        optional(value, 'format', object)
      );
    // The provider's own tools have neither a name nor a form in common.
    default:
      return null;
  }
};

export const tools = arrayOf(tool, 0, toolsMax, 'tools');

export const toolChoice: Check = (value) => {
  if (typeof value === 'string') return oneOf('none', 'auto', 'required')(value);
  if (!isObject(value)) return complain('', value, `'none', 'auto', 'required' or {"type":"function","name":…}`);
  switch (value.type) {
    case 'function':
    case 'custom':
      return required(value, 'name', toolName, 'the name of a tool');
    case 'allowed_tools':
      return (
        required(value, 'mode', oneOf('auto', 'required'), "'auto' or 'required'") ??
        required(value, 'tools', arrayOf(object, 0, toolsMax, 'tools'), 'the tools to choose from')
      );
    default:
      return typeof value.type === 'string'
        ? null
        : complain('type', value.type, "'function', 'custom', 'allowed_tools' or the type of a provider's tool");
  }
};

/** A choice that forces a tool needs that tool: an upstream's own complaint would come late and name less. */
export function choiceFitsTools(body: JsonObject): Complaint | null {
  const choice = body.tool_choice;
  // An earlier response may have brought the tools.
  if (typeof body.previous_response_id === 'string' || isObject(body.prompt)) return null;
  const offered = Array.isArray(body.tools) ? body.tools : [];
  if (choice === 'required' && offered.length === 0) {
    return complain('tools', undefined, "the tools that 'tool_choice' is to choose from");
  }
  if (!isObject(choice) || (choice.type !== 'function' && choice.type !== 'custom')) return null;
  const fits = offered.some((one) => isObject(one) && one.type === choice.type && one.name === choice.name);
  return fits ? null : within('tool_choice', complain('name', choice.name, "the name of one of 'tools'"));
}
