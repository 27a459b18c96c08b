import { anthropicMessages } from '../../src/formats/dialects/anthropic-messages/index.ts';
import { testChatOver } from './chat-cases.ts';

testChatOver({
  upstream: anthropicMessages,
  home: import.meta.dirname,
  requests: null,
  model: 'claude-sonnet-4-5',
});
