import { chat } from './chat.ts';
import type { Format } from './format.ts';
import { messages } from './messages.ts';
import { responses } from './responses.ts';

export const formats: readonly Format[] = [chat, messages, responses];

export function formatOf(id: string | undefined): Format {
  return formats.find((format) => format.id === id) ?? chat;
}
