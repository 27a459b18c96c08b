import type { StorageBook } from '../../../books/metering/storage/storage-book.ts';
import type { ServeServices } from '../../spine/answer-cache.ts';
import type { ChatServices } from '../chat/services.ts';
import type { StoredResponses } from './stored-responses.ts';

export interface ResponsesServices extends ChatServices, ServeServices {
  responses: StoredResponses;
  storage: Pick<StorageBook, 'mayKeep'>;
  /** For the operator's log. */
  onTrouble(message: string): void;
}
