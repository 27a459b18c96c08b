import type { JsonObject } from '../../kernel/json.ts';
import { gemini } from '../dialects/gemini/index.ts';
import { imageFormats } from '../dialects/images/index.ts';
import { openAiChat } from '../dialects/openai-chat/index.ts';
import type { ImageRequest } from '../neutral/image.ts';
import type { Loss } from '../neutral/loss.ts';
import type { ProviderConnection } from '../providers/connection.ts';
import type { Target } from '../routing/target.ts';
import type { PreparedBody } from '../spine/job.ts';
import { GatheredWhole } from '../spine/pass-through.ts';
import { DrawnStream } from './drawn-stream.ts';
import type { ImageEdit } from './image-edit.ts';
import { formUpload, markedSource } from './image-upload.ts';

/**
 * One call for `count` pictures, in the target's own format. `preview`: gets events of unfinished pictures; null: they
 * are not asked for.
 */
export function prepareImages(
  connection: ProviderConnection,
  target: Target,
  { request, edit }: { request: ImageRequest; edit: ImageEdit | null },
  count: number,
  { inputTokensEstimate, preview }: { inputTokensEstimate: number; preview: ((frame: Buffer) => void) | null },
): { body: PreparedBody; losses: readonly Loss[] } {
  const { model } = target;
  const facts = target.image!;
  const marked = edit === null ? null : markedSource(edit);
  const source = marked?.source ?? null;
  const { body, losses } = imageFormats[facts.format].encode({ model, count, request, facts, source });
  const asked = preview === null ? {} : { stream: true, partial_images: request.stream?.partialImages ?? 0 };
  const whole = { ...body, ...asked, ...(target.body as JsonObject) };
  // OpenAI's format alone has a form for it, the others take pictures inside their JSON.
  const upload = marked === null ? null : facts.format === 'openai' ? formUpload(whole, edit!) : marked.upload(whole);
  const task = edit === null ? 'generate' : 'edit';
  return {
    losses,
    body: {
      bytes: upload === null ? JSON.stringify(whole) : '',
      ...(upload !== null && { upload }),
      streamed: false,
      upstreamDialect: connection.provider.dialect === 'gemini' ? gemini : openAiChat,
      path: connection.images!.pathOf(model, task, { apiVersion: connection.apiVersion }),
      inputTokensEstimate,
      reader: (contentType) =>
        // Some servers answer whole whatever was asked.
        preview !== null && contentType.startsWith('text/event-stream')
          ? new DrawnStream(preview)
          : new GatheredWhole(),
    },
  };
}
