import type { ForwardedEndpointId } from '../../../formats/dialects/forwarded/endpoint.ts';
import type { BodyReader } from '../../spine/body-reader.ts';
import type { SpineServices } from '../../spine/services.ts';
import type { ForwardedBody } from './forwarded-body.ts';

export interface ForwardedServices extends SpineServices {
  bodies: BodyReader<Record<ForwardedEndpointId, ForwardedBody>>;
}
