import type { RequestReply } from '../../../../src/admin/request-schema.ts';

export type Loss = NonNullable<RequestReply['route']['losses']>[number];
export type Conversation = NonNullable<RequestReply['conversation']>;

/** Changes of a conversion, by where they are shown. */
export interface PlacedLosses {
  /** Losses in a turn of the request, by its index. */
  turn: (index: number) => Loss[];
  /** Losses in all parts of a type, such as `audio`. */
  part: (type: string) => Loss[];
  setting: (name: string) => Loss[];
  tool: (index: number) => Loss[];
  /** Losses without a place in the conversation. */
  rest: Loss[];
}

/** Words of losses, and the parts that they are about. */
const partTypes: Readonly<Record<string, string>> = {
  audio: 'audio',
  image: 'image',
  citations: 'citation',
  signature: 'thought',
};

/** Gives each loss its place: the turn, tool, setting or part that its field names. */
export function placeLosses(losses: readonly Loss[], conversation: Conversation, request: string): PlacedLosses {
  const sent = turnsSent(request);
  const requestTurns = conversation.turns.filter(({ from }) => from === 'request').length;
  // Where the format has the system's words elsewhere, they are the first turn here.
  const ahead = sent === null ? null : requestTurns - sent;
  const settings = new Set(conversation.settings.map(({ name }) => name));
  const types = new Set(conversation.turns.flatMap(({ parts }) => parts.map(({ type }) => String(type))));
  const placed = new Map<string, Loss[]>();
  const rest: Loss[] = [];
  for (const loss of losses) {
    const place = placeOf(loss.field, ahead, settings, types);
    if (place === null) rest.push(loss);
    else placed.set(place, [...(placed.get(place) ?? []), loss]);
  }
  const at = (place: string) => placed.get(place) ?? [];
  return {
    turn: (index) => at(`turn ${index}`),
    part: (type) => at(`part ${type}`),
    setting: (name) => at(`setting ${name}`),
    tool: (index) => at(`tool ${index}`),
    rest,
  };
}

function placeOf(
  field: string,
  ahead: number | null,
  settings: ReadonlySet<string>,
  types: ReadonlySet<string>,
): string | null {
  const [, list, index] = /^(messages|input|contents|tools)\[(\d+)\]/.exec(field) ?? [];
  if (list === 'tools') return `tool ${index}`;
  // Some formats put several of our turns into one: then nobody knows which it is.
  if (list !== undefined) return ahead === 0 || ahead === 1 ? `turn ${Number(index) + ahead}` : null;
  const name = field.replace(/[.[].*$/, '');
  const setting = settings.has(name) ? name : [...settings].find((one) => snake(one) === name);
  if (setting !== undefined) return `setting ${setting}`;
  const type = partTypes[name];
  return type !== undefined && types.has(type) ? `part ${type}` : null;
}

function snake(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** Turns in the body as it was sent; null: it cannot be read. */
function turnsSent(request: string): number | null {
  try {
    const { messages, input, contents } = JSON.parse(request) as Record<string, unknown>;
    const list = messages ?? input ?? contents;
    return Array.isArray(list) ? list.length : null;
  } catch {
    return null;
  }
}
