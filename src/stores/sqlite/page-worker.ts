import { workerData } from 'node:worker_threads';
import { yieldToMainThread } from '../../kernel/priority.ts';
import { answerCalls } from '../../kernel/threads/thread-port.ts';
import { openSqlitePageStore } from './page-store.ts';
import type { PageFile } from './page-thread.ts';

yieldToMainThread();
const { file, bounds } = workerData as PageFile;
answerCalls(openSqlitePageStore(file, bounds));
