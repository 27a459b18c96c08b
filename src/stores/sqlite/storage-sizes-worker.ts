import { yieldToMainThread } from '../../kernel/priority.ts';
import { answerOrders } from '../../kernel/threads/thread-port.ts';
import { storageSizes } from './storage-sizes.ts';

yieldToMainThread();

answerOrders(({ path, nowMs }: { id: number; path: string; nowMs: number }) => storageSizes(path, nowMs));
