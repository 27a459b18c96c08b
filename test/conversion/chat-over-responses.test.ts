import { join } from 'node:path';
import { openAiResponses } from '../../src/formats/dialects/openai-responses/index.ts';
import { testChatOver } from './chat-cases.ts';

/* The requests are those of the conversion to Messages, and some of their own. */
testChatOver({
  upstream: openAiResponses,
  home: join(import.meta.dirname, 'responses'),
  requests: import.meta.dirname,
  model: 'gpt-5.1',
});
