import { join } from 'node:path';
import { gemini } from '../../src/formats/dialects/gemini/index.ts';
import { testChatOver } from './chat-cases.ts';

/* The requests are those of the conversion to Messages, and some of their own. */
testChatOver({
  upstream: gemini,
  home: join(import.meta.dirname, 'gemini'),
  requests: import.meta.dirname,
  model: 'gemini-2.5-flash',
});
