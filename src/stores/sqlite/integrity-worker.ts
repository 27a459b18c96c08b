import { yieldToMainThread } from '../../kernel/priority.ts';
import { threadPort } from '../../kernel/threads/thread-port.ts';
import { damageOf } from './integrity.ts';

yieldToMainThread();

threadPort().on('message', ({ id, file }: { id: number; file: string }) =>
  threadPort().postMessage({ id, result: damageOf(file, 'quick') }),
);
