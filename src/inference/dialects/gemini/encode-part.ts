import { isObject, type JsonObject } from '../../../kernel/json.ts';
import type { MediaSource, NeutralPart } from '../../neutral/request.ts';
import { type Encoding, lose, refuse } from './encoding.ts';
import { wireName } from './function-name.ts';
import { type Blob, type Part, vendor } from './wire.ts';

const filesOrigin = 'https://generativelanguage.googleapis.com/v1beta/';

/**
 * The part for one piece of a message, or null when nothing of it can be sent. Results of tools are not pieces here:
 * see encode-results.ts. `path` names the piece in the caller's body.
 */
export function encodePart(part: NeutralPart, path: string, encoding: Encoding): Part | null {
  if ('cache' in part && part.cache !== undefined) lose(encoding, 'cache_control', 'unsupported');
  switch (part.type) {
    case 'text':
    case 'refusal':
      return part.text === '' ? null : { text: part.text };
    case 'image':
      if (part.detail !== undefined && part.detail !== 'auto') {
        lose(encoding, `${path}.image_url.detail`, 'unsupported');
      }
      return mediaPart(part.source, path, encoding);
    case 'audio':
      return { inlineData: { mimeType: audioType(part.format), data: part.base64 } };
    case 'document':
      return mediaPart(part.source, path, encoding);
    case 'tool-call':
      return {
        functionCall: {
          ...(encoding.rules.signedCalls && part.id !== '' ? { id: part.id } : {}),
          name: wireName(part.name),
          args: callArguments(part.argumentsJson, path, encoding),
        },
      };
    case 'vendor':
      if (part.vendor === vendor) return part.block as Part;
      lose(encoding, path, 'unsupported');
      return null;
    case 'reasoning':
    case 'redacted-reasoning':
      // Google does without thoughts told back; of its own the signature goes on, see encode-contents.ts.
      if (part.vendor !== vendor) lose(encoding, `${path}.reasoning_content`, 'unsupported');
      return null;
    case 'tool-result':
      return null;
  }
}

function mediaPart(source: MediaSource, path: string, encoding: Encoding): Part | null {
  switch (source.kind) {
    case 'base64':
      return { inlineData: blobOf(source) };
    case 'url':
      // The pipeline fetches what stands at http(s); what comes here was not to be had.
      refuse(encoding, path, 'The provider of this model takes pictures and files inline only.');
      return null;
    case 'file-id':
      if (source.fileId.startsWith(filesOrigin)) return { fileData: { fileUri: source.fileId } };
      // Files live with the provider they were uploaded to: only Google's own names mean something to it.
      if (/^files\/[\w-]{1,64}$/.test(source.fileId)) return { fileData: { fileUri: filesOrigin + source.fileId } };
      refuse(encoding, path, 'A file uploaded to another provider cannot be used with this model: send its content.');
      return null;
  }
}

export function blobOf(source: Extract<MediaSource, { kind: 'base64' }>): Blob {
  const mimeType = source.mediaType.toLowerCase();
  return { mimeType: mimeType === 'image/jpg' ? 'image/jpeg' : mimeType, data: source.base64 };
}

function audioType(format: string): string {
  return format === 'mp3' ? 'audio/mp3' : `audio/${format.toLowerCase().replace(/[^a-z0-9.+-]/g, '') || 'wav'}`;
}

/**
 * Arguments as the object that Google wants. What a model wrote is not always one: empty text is `{}`, anything else
 * that is no JSON object goes as `{"_raw": text}`, so that the model sees what it wrote and nothing fails.
 */
function callArguments(argumentsJson: string, path: string, encoding: Encoding): JsonObject {
  if (argumentsJson === '' || argumentsJson === '{}') return {};
  try {
    const value: unknown = JSON.parse(argumentsJson);
    if (isObject(value)) return value;
  } catch {
    if (argumentsJson.trim() === '') return {};
  }
  lose(encoding, `${path}.function.arguments`, 'narrowed');
  return { _raw: argumentsJson };
}
