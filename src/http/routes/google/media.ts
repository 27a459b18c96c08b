import {
  type MediaRequest,
  pictureRequestOf,
  predictedPicturesOf,
  speechRequestOf,
} from '../../../formats/media/gemini/media-request.ts';
import { videoRequestOf } from '../../../formats/media/gemini/video-request.ts';
import type { Services } from '../../../inference/endpoints/services.ts';
import { speechEndpoint } from '../../../inference/families/speech/endpoint.ts';
import { videosEndpoint } from '../../../inference/families/videos/endpoint.ts';
import { type Failure, isFailure } from '../../../kernel/failure.ts';
import type { JsonObject } from '../../../kernel/json.ts';
import { callerOf, type Exchange } from '../../exchange.ts';
import { asReceived, bodyHandler } from '../../model-call.ts';
import { refuseCall } from '../../write-json.ts';
import { imageHandlers } from '../media/image-handlers.ts';
import { MediaDelivery, type MediaFacts } from './media-delivery.ts';

type Read = (body: JsonObject, model: string) => MediaRequest | Failure;

/** A method of a model that makes media, and how its body is read. */
interface MediaCall extends Pick<MediaFacts, 'model' | 'kind' | 'form'> {
  read: Read;
}

/**
 * Answers requests to models that speak or draw, whatever their providers speak: by the families of speech and of
 * pictures. False, and nothing done, for all other models. The exchange has its body already.
 */
export function mediaHandler(services: Services): (exchange: Exchange) => Promise<boolean> {
  const speak = bodyHandler(services, speechEndpoint(services), asReceived);
  const { draw, change } = imageHandlers(services);
  const film = bodyHandler(services, videosEndpoint(services), (_, body) => ({ body }));
  return async (exchange) => {
    const call = callOf(services, exchange);
    if (call === null || exchange.givenBody === null) return false;
    const read = await services.bodies.readObject(callerOf(exchange).tenant, exchange.givenBody);
    const made = isFailure(read) ? read : call.read(read.body, call.model);
    if (isFailure(made)) {
      refuseCall(exchange, made);
      return true;
    }
    const { kind, form, model } = call;
    const client = new MediaDelivery(exchange.client, { kind, form, model, lost: made.lost });
    const handles = { sound: speak, predictions: draw, operation: film };
    const handle = kind === 'pictures' ? (made.body.images === undefined ? draw : change) : handles[kind];
    await handle({ ...exchange, client, givenBody: Buffer.from(JSON.stringify(made.body)) });
    return true;
  };
}

function callOf(services: Services, exchange: Exchange): MediaCall | null {
  const [, model, method] =
    /^(.+):(generateContent|streamGenerateContent|predict|predictLongRunning)$/s.exec(exchange.params['*'] ?? '') ?? [];
  if (model === undefined) return null;
  if (method === 'predict') return { model, kind: 'predictions', form: 'whole', read: predictedPicturesOf };
  const alias = services.snapshots.current.models.resolve(model, callerOf(exchange));
  if (method === 'predictLongRunning') {
    const targets = isFailure(alias) ? [] : alias.candidates.filter(({ target }) => target.video !== undefined);
    const maker = targets.every(({ target }) => target.video?.format === 'veo') ? 'google' : 'others';
    return { model, kind: 'operation', form: 'whole', read: (body) => videoRequestOf(body, model, maker) };
  }
  if (isFailure(alias)) return null;
  const form = method === 'generateContent' ? 'whole' : 'events';
  if (alias.listedAs === 'speech') return { model, kind: 'sound', form, read: speechRequestOf };
  return alias.listedAs === 'image' ? { model, kind: 'pictures', form, read: pictureRequestOf } : null;
}
