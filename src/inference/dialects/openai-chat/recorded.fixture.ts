import { existsSync, readdirSync, readFileSync } from 'node:fs';
import type { JsonObject } from '../../../kernel/json.ts';
import type { NeutralEvent } from '../../neutral/event.ts';

const folder = new URL('../../../../test/recorded/openai-chat/', import.meta.url);

export interface Recording {
  name: string;
  /** The bytes of a streamed answer; null for a whole one. */
  stream: Buffer | null;
  whole: JsonObject | null;
  events: NeutralEvent[];
}

/** Every case of `test/recorded/openai-chat`. */
export function recordings(): Recording[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => {
      const at = (file: string) => new URL(`${name}/${file}`, folder);
      const stream = existsSync(at('stream.sse')) ? readFileSync(at('stream.sse')) : null;
      const whole = stream === null ? (JSON.parse(readFileSync(at('answer.json'), 'utf8')) as JsonObject) : null;
      const events = JSON.parse(readFileSync(at('events.json'), 'utf8')) as NeutralEvent[];
      return { name, stream, whole, events };
    });
}
