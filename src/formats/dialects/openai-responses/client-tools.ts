import {
  isObject,
  type JsonObject,
  type JsonValue,
  jsonText,
  objectIn,
  objectsIn,
  stringOr,
} from '../../../kernel/json.ts';
import type { NeutralPart } from '../../neutral/request.ts';
import { argumentsObject } from '../arguments-text.ts';
import { mediaSource } from '../openai-chat/decode-messages.ts';
import type { WireTool } from './wire.ts';

const text = { type: 'string' };
const whole = { type: 'integer' };
const texts = { type: 'array', items: text };
const oneOf = (...words: string[]) => ({ type: 'string', enum: words });
const point = { x: whole, y: whole };

const action = {
  type: oneOf('click', 'double_click', 'drag', 'keypress', 'move', 'screenshot', 'scroll', 'type', 'wait'),
  ...{ ...point, scroll_x: whole, scroll_y: whole, keys: texts, text },
  button: oneOf('left', 'right', 'wheel', 'back', 'forward'),
  path: { type: 'array', items: { type: 'object', properties: point, required: ['x', 'y'] } },
};
const screen =
  'Controls a screen by mouse and keyboard; the result is a screenshot. Coordinates are pixels from its upper left corner. text is what is typed, keys are pressed together, and path is the way of a drag.';

interface Kind {
  summary: string;
  required: string[];
  properties: JsonObject;
  /** How ids of calls begin. */
  idPrefix: string;
  /** The members of a call's item, from what the model wrote. */
  members: (given: JsonObject) => JsonObject;
}

/** Tools that OpenAI defines and the caller runs, by their names as functions, with the members that OpenAI documents. */
const kinds: Readonly<Record<string, Kind>> = {
  shell: {
    summary: 'Runs commands, one after the other, in a shell on the machine of the user.',
    required: ['commands'],
    properties: { commands: texts, timeout_ms: whole, max_output_length: whole },
    idPrefix: 'sh',
    members: ({ commands, timeout_ms = null, max_output_length = null }) => ({
      action: { commands: textsIn(commands), timeout_ms, max_output_length },
      environment: { type: 'local' },
    }),
  },
  local_shell: {
    summary: 'Runs a program on the machine of the user. command has the program and its arguments.',
    required: ['command'],
    properties: { command: texts, timeout_ms: whole, working_directory: text },
    idPrefix: 'lsh',
    members: ({ command, env, ...given }) => {
      const line = typeof command === 'string' ? ['bash', '-lc', command] : textsIn(command);
      return { action: { ...given, type: 'exec', command: line, env: isObject(env) ? env : {} } };
    },
  },
  apply_patch: {
    summary:
      'Creates, changes or deletes one file. diff is a V4A diff without headers for files: @@ and a line that tells where, then lines that begin with a space (context), - or +. All lines of a created file begin with +.',
    required: ['type', 'path'],
    properties: { type: oneOf('create_file', 'update_file', 'delete_file'), path: text, diff: text },
    idPrefix: 'apc',
    members: ({ type, path, diff }) => {
      const operation = { type: stringOr(type, 'update_file'), path: stringOr(path, '') };
      return { operation: type === 'delete_file' ? operation : { ...operation, diff: stringOr(diff, '') } };
    },
  },
  computer: {
    summary: `${screen} Do several actions at once where no screenshot is needed between them.`,
    required: ['actions'],
    properties: { actions: { type: 'array', items: { type: 'object', properties: action, required: ['type'] } } },
    idPrefix: 'cu',
    members: ({ actions, ...alone }) => ({
      actions: alone.type === undefined ? objectsIn(actions).map(wholeAction) : [wholeAction(alone)],
      pending_safety_checks: [],
    }),
  },
  computer_use_preview: {
    summary: screen,
    required: ['type'],
    properties: action,
    idPrefix: 'cu',
    members: (given) => ({
      ...(given.type !== undefined && { action: wholeAction(given) }),
      pending_safety_checks: [],
    }),
  },
};

/** The kind of a tool; null: none of these, or a shell in a container of OpenAI's. */
export function clientKind({ type, environment }: JsonObject): string | null {
  if (typeof type !== 'string' || !Object.hasOwn(kinds, type)) return null;
  return /^container/.test(jsonText(objectIn(environment).type)) ? null : type;
}

/** The tool as a function of the caller's; null: the provider runs it. */
export function asFunction(tool: JsonObject): (WireTool & { type: 'function' }) | null {
  const name = clientKind(tool);
  const kind = name === null ? undefined : kinds[name];
  if (name === null || kind === undefined) return null;
  const { display_width: width, display_height: height, environment } = tool;
  const size = width === undefined ? '' : ` The screen has ${jsonText(width)} x ${jsonText(height)} pixels.`;
  const skills = objectsIn(objectIn(environment).skills)
    .map((one) => `\n${jsonText(one.name)}, in ${jsonText(one.path)}: ${jsonText(one.description)}`)
    .join('');
  const description = kind.summary + size + (skills && `\nRead the SKILL.md of a skill before you use it:${skills}`);
  const { properties, required } = kind;
  return { type: 'function', name, description, parameters: { type: 'object', properties, required } };
}

export function clientIdPrefix(kind: string): string {
  return kinds[kind]?.idPrefix ?? 'fc';
}

/** A call of such a tool in the wire's form. Arguments that are not whole JSON do nothing: half a command is never run. */
export function clientItem(kind: string, argumentsJson: string, facts: JsonObject): JsonObject {
  const type = kind.startsWith('computer') ? 'computer_call' : `${kind}_call`;
  return { type, ...facts, ...kinds[kind]?.members(argumentsObject(argumentsJson) ?? {}) };
}

const itemType = /^(?:shell|local_shell|apply_patch|computer)_call(_output)?$/;

/** The part of a conversation that an item of such a tool is: a call of the assistant, or its result; null for other items. */
export function clientPart(item: JsonObject): Extract<NeutralPart, { type: 'tool-call' | 'tool-result' }> | null {
  const type = jsonText(item.type);
  const id = item.call_id ?? item.id;
  const found = itemType.exec(type);
  if (found === null || typeof id !== 'string') return null;
  if (found[1] !== undefined) {
    const isError = item.status === 'failed';
    return { type: 'tool-result', callId: id, parts: resultParts(item), isError };
  }
  const { type: exec, ...given } = objectIn(item.operation ?? item.action);
  const isExec = type === 'local_shell_call' || exec === undefined;
  const action = isExec ? given : { type: exec, ...given };
  const isBatch = type === 'computer_call' && item.actions !== undefined;
  const values = Object.entries(isBatch ? { actions: item.actions } : action).filter(([, value]) => value !== null);
  const name = isBatch || type !== 'computer_call' ? type.slice(0, -'_call'.length) : 'computer_use_preview';
  return { type: 'tool-call', id, name, argumentsJson: JSON.stringify(Object.fromEntries(values)) };
}

function resultParts({ output, status }: JsonObject): NeutralPart[] {
  const { type, image_url: url, file_id: fileId } = objectIn(output);
  if (type === 'computer_screenshot') {
    const source =
      typeof url === 'string' ? mediaSource(url) : { kind: 'file-id' as const, fileId: stringOr(fileId, '') };
    return [{ type: 'image', source }];
  }
  const printed = objectsIn(output).map(({ stdout, stderr, outcome }) => {
    const { type: end, exit_code: code } = objectIn(outcome);
    const ended = end === 'timeout' ? '[timed out]' : `[exit code ${jsonText(code ?? 0)}]`;
    return [stdout, stderr, ended].filter((one) => typeof one === 'string' && one !== '').join('\n');
  });
  const words = Array.isArray(output) ? printed.join('\n') : stringOr(output, '') || stringOr(status, '');
  return [{ type: 'text', text: words }];
}

function textsIn(value: JsonValue | undefined): string[] {
  return (Array.isArray(value) ? value : [value]).filter((one) => typeof one === 'string');
}

/** Members that the published type requires and models leave out. */
function wholeAction(given: JsonObject): JsonObject {
  if (given.type === 'click') return { button: 'left', ...given };
  if (given.type === 'scroll') return { scroll_x: 0, scroll_y: 0, ...given };
  return given.type === 'double_click' ? { keys: null, ...given } : given;
}
