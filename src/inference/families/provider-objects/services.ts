import type { SpineServices } from '../../spine/services.ts';
import type { FindUpload } from '../chat/inline-uploads.ts';
import type { ProviderObjects } from '../chat/provider-objects.ts';

/** Services of calls for objects at providers. */
export interface ObjectServices extends SpineServices {
  objects: Pick<ProviderObjects, 'homeOf' | 'givenTo' | 'give' | 'forget' | 'recorded' | 'ready'>;
  uploads: { find: FindUpload | null };
}
