import { isObject, type JsonObject, type JsonValue, jsonText, objectIn } from '../../../kernel/json.ts';
import { type CallerBody, type CallerMessage, type CallerTool, type CustomTool, isCustomTool } from './wire.ts';

const text = { type: 'string' };
const whole = { type: 'integer' };
const numbers = (minItems: number) => ({ type: 'array', items: whole, minItems, maxItems: minItems });
const oneOf = (...words: string[]) => ({ type: 'string', enum: words });

const edits = { path: text, file_text: text, old_str: text, new_str: text, insert_line: whole, insert_text: text };
const editor = {
  summary:
    'Views and edits text files. create takes file_text, str_replace old_str and new_str, insert puts insert_text behind insert_line, view takes view_range, [first line, last line or -1].',
  required: ['command', 'path'],
  properties: { command: oneOf('view', 'create', 'str_replace', 'insert'), ...edits, view_range: numbers(2) },
};
const mouse = [
  ...['mouse_move', 'left_mouse_down', 'left_mouse_up', 'left_click', 'left_click_drag', 'right_click'],
  ...['middle_click', 'double_click', 'triple_click', 'scroll', 'cursor_position'],
];

/** Tools that Anthropic defines and the caller runs, by the beginning of their types, with the inputs that Anthropic documents. */
const defined: Readonly<Record<string, { summary: string; required: string[]; properties: JsonObject }>> = {
  bash: {
    summary: 'Runs a command in a bash session that goes on between calls. restart begins a new one.',
    required: [],
    properties: { command: text, restart: { type: 'boolean' } },
  },
  text_editor: editor,
  memory: {
    summary:
      'Keeps notes as files below /memories, which outlast the conversation. View /memories before anything else. create takes file_text, str_replace old_str and new_str, insert insert_line and insert_text, rename old_path and new_path, all others path.',
    required: ['command'],
    properties: {
      ...editor.properties,
      command: oneOf('view', 'create', 'str_replace', 'insert', 'delete', 'rename'),
      ...{ old_path: text, new_path: text },
    },
  },
  computer: {
    summary:
      'Controls a screen by mouse and keyboard, and takes screenshots. Coordinates are pixels from the upper left corner. text is what is typed, or the key; duration is in seconds; zoom shows a region.',
    required: ['action'],
    properties: {
      action: oneOf('key', 'hold_key', 'type', 'wait', 'screenshot', 'zoom', ...mouse),
      coordinate: numbers(2),
      start_coordinate: numbers(2),
      region: numbers(4),
      scroll_direction: oneOf('up', 'down', 'left', 'right'),
      scroll_amount: whole,
      duration: { type: 'number' },
      text,
    },
  },
};

/** The tool as a function of the caller's; null: Anthropic runs it, or it is several tools. */
export function asFunction(tool: CallerTool): CustomTool | null {
  if (isCustomTool(tool)) return tool;
  const kind = /^([a-z_]+?)_\d{8}$/.exec(jsonText(tool.type))?.[1] ?? '';
  const known = Object.hasOwn(defined, kind) ? defined[kind] : undefined;
  if (known === undefined || typeof tool.name !== 'string') return null;
  const {
    type: _,
    display_width_px: width,
    display_height_px: height,
    enable_zoom: __,
    display_number: ___,
    ...rest
  } = tool;
  const screen = kind === 'computer' ? ` The screen has ${jsonText(width)} x ${jsonText(height)} pixels.` : '';
  const { summary, required, properties } = known;
  return {
    ...rest,
    name: tool.name,
    description: summary + screen,
    input_schema: { type: 'object', properties, required },
  };
}

/**
 * Tools as they are at the end of the conversation: messages may define some, and take some away. Other formats have one
 * list for all turns.
 */
export function toolsAtEnd({ tools, messages }: CallerBody): readonly CallerTool[] {
  const changes = changesIn(messages);
  if (changes.length === 0) return tools ?? [];
  const known = new Map<JsonValue | undefined, CallerTool>();
  for (const tool of tools ?? []) known.set(tool.name ?? tool.mcp_server_name, tool);
  const removed = new Set<JsonValue | undefined>();
  for (const { type, tool } of changes) {
    const { name, server_name: server, definition } = objectIn(tool);
    const defined = objectIn(definition);
    if (isFunction(defined)) known.set(defined.name, defined);
    const changed = defined.name ?? name ?? server;
    if (type === 'tool_removal') removed.add(changed);
    else removed.delete(changed);
  }
  return [...known].flatMap(([name, tool]) => (removed.has(name) ? [] : [tool]));
}

/** Definitions within messages are not checked before. */
function isFunction(tool: JsonObject): tool is CallerTool {
  if (typeof tool.name !== 'string') return false;
  const { type } = tool;
  return type == null || type === 'custom' ? isObject(tool.input_schema) : typeof type === 'string';
}

/** Most conversations have none, however long they are: they make no lists. */
function changesIn(messages: readonly CallerMessage[]): JsonObject[] {
  const changes: JsonObject[] = [];
  for (const { content } of messages) {
    if (!Array.isArray(content)) continue;
    for (const block of content as JsonValue[]) {
      if (!isObject(block)) continue;
      if (isToolChange(block.type)) changes.push(block);
      if (Array.isArray(block.tool_changes))
        for (const change of block.tool_changes)
          if (isObject(change) && isToolChange(change.type)) changes.push(change);
    }
  }
  return changes;
}

export function isToolChange(type: JsonValue | undefined): boolean {
  return type === 'tool_addition' || type === 'tool_removal';
}
