import { isObject, type JsonValue } from '../../src/kernel/json.ts';
import { parsed } from './exchange.ts';

/** Contents of an answer, in no format, for comparisons. Of several choices the first. */
export interface Said {
  text: string;
  tools: readonly SaidCall[];
  finish: Finish;
  /** The text says why there is no answer: some formats end that as filtered. */
  refused: boolean;
  /** Null when the answer tells none. */
  usage: SaidUsage | null;
  thoughts: string;
  /** Pictures, sounds and files. */
  media: number;
  citations: number;
}

/** A call of the caller's tool: arguments as `spelt`, those of a custom tool unchanged. */
export interface SaidCall {
  name: string;
  arguments: string;
  custom?: true;
}

export type Finish = 'stop' | 'tools' | 'length' | 'filtered' | 'none' | `other: ${string}`;

/** Tokens: `input` includes cached ones, `output` includes thoughts. */
export interface SaidUsage {
  input: number;
  output: number;
}

/** An answer that is an error: its words, as far as it has some. */
export interface SaidError {
  error: string;
}

/** A part of `Said` that formats need not have. */
type Beside = Partial<Pick<Said, 'refused' | 'thoughts' | 'media' | 'citations'>>;

/** Formats differ in whether a finish names the calls that were made: their presence decides. */
export function said({ text, tools, finish, usage, ...beside }: Omit<Said, keyof Beside> & Beside): Said {
  const plain = finish === 'tools' ? 'stop' : finish;
  return {
    text,
    tools,
    finish: plain === 'stop' && tools.length > 0 ? 'tools' : plain,
    usage,
    refused: beside.refused ?? false,
    thoughts: beside.thoughts ?? '',
    media: beside.media ?? 0,
    citations: beside.citations ?? 0,
  };
}

/** The finish of a word, by a format's own table. */
export function finishOf(table: Readonly<Record<string, Finish>>, word: unknown): Finish {
  if (typeof word !== 'string' || word === '') return 'none';
  return Object.hasOwn(table, word) ? table[word]! : `other: ${word}`;
}

/** Arguments spelt one way, so that spaces and the order of members do not count. */
export function spelt(argumentsOf: unknown): string {
  const value = typeof argumentsOf === 'string' ? parsed(argumentsOf === '' ? '{}' : argumentsOf) : argumentsOf;
  return value === undefined ? String(argumentsOf) : JSON.stringify(sorted(value as JsonValue));
}

function sorted(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isObject(value)) return value;
  const members = Object.entries(value).filter((member): member is [string, JsonValue] => member[1] !== undefined);
  return Object.fromEntries(members.sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, one]) => [name, sorted(one)]));
}

/** Members of a list that are objects; none for anything but a list. */
export function objectsOf(list: unknown): Record<string, JsonValue | undefined>[] {
  return Array.isArray(list) ? list.filter(isObject) : [];
}

/** A number, or 0. */
export function count(value: unknown): number {
  return typeof value === 'number' ? value : 0;
}

/** A text, or ''. */
export function words(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
