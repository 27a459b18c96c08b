import type { ImageNeeds, ImageRequest } from '../neutral/image.ts';
import { estimatedTokens } from '../neutral/token-count.ts';
import type { ConversationBody } from './conversation-body.ts';
import type { ImageEdit } from './image-edit.ts';
import { plainFacts } from './plain-request.ts';

/** A request for pictures as the pipeline carries it: plain data, so it is encoded where the attempts are. */
export function imageBody(request: ImageRequest, edit: ImageEdit | null = null): ConversationBody {
  const { size, background, outputFormat } = request;
  return {
    facts: {
      ...plainFacts(
        {
          model: request.model,
          user: request.user,
          stream: request.stream !== null,
          inputTokensEstimate: estimatedTokens(Buffer.byteLength(request.prompt)),
        },
        {
          image: {
            size,
            transparent: background === 'transparent',
            outputFormat,
            edit: edit === null ? null : neededFor(edit),
          },
        },
      ),
      image: request,
    },
    encode() {
      throw new Error('a request for pictures is encoded by its attempts');
    },
    release() {},
  };
}

function neededFor({ pictures, mask }: ImageEdit): ImageNeeds['edit'] {
  const bytes = [...pictures, ...(mask === null ? [] : [mask])].reduce((sum, { file }) => sum + file.bytes, 0);
  return { pictures: pictures.length, mask: mask !== null, bytes };
}
