import { join } from 'node:path';
import { cohereChat } from '../../src/formats/dialects/cohere-chat/index.ts';
import { testChatOver } from './chat-cases.ts';

/* The requests are those of the conversion to Messages, and some of their own. */
testChatOver({
  upstream: cohereChat,
  home: join(import.meta.dirname, 'cohere'),
  requests: import.meta.dirname,
  model: 'command-a-reasoning-08-2025',
});
