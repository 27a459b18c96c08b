import type { Failure } from '../../../kernel/failure.ts';
import type { RequestExtras } from '../dialect.ts';
import { fallbackModelsOf } from '../fallback-models.ts';
import { someExtras } from '../request-extras.ts';
import { serverToolsOf } from './server-tools.ts';
import type { ChatRequest } from './wire.ts';

/** `vendors`: why only the vendor may judge the request; null: it passed every check. */
export function extrasOf(request: ChatRequest, vendors: Failure | null): RequestExtras | null {
  const { modalities, store } = request;
  const speaks = Array.isArray(modalities) && modalities.includes('audio');
  return someExtras({
    fallbackModels: fallbackModelsOf(request),
    nativeOnly: vendors,
    nativeFor: vendors === null ? null : 'judge',
    serverTools: serverToolsOf(request),
    answerGives: store === true ? 'all' : speaks ? 'objects' : null,
  });
}
