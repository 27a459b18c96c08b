import type { PlanBook } from '../../../books/metering/plan-book.ts';
import type { CallerDialectId } from '../../../formats/dialects/dialect.ts';
import type { SchemaCheck } from '../../../guards/schema-check.ts';
import type { Room } from '../../../kernel/sharing/room.ts';
import type { ServerToolPorts } from '../../server-tools/tool-ports.ts';
import type { AnswerCache } from '../../spine/answer-cache.ts';
import type { BodyReader } from '../../spine/body-reader.ts';
import type { SpineServices } from '../../spine/services.ts';
import type { ConversationBody } from './conversation-body.ts';
import type { MediaFetcher } from './fetch-media.ts';
import type { FindUpload } from './inline-uploads.ts';
import type { ItemMemory } from './item-memory.ts';
import type { ProviderObjects } from './provider-objects.ts';
import type { TokenCounter } from './token-counter.ts';

export interface ChatServices extends SpineServices {
  bodies: BodyReader<Record<CallerDialectId, ConversationBody>>;
  media: MediaFetcher;
  /** The plans in force. */
  plans(): PlanBook;
  objects: ProviderObjects;
  items: ItemMemory;
  schemas: SchemaCheck;
  /** Files that callers uploaded; `find` is null where a body may name none. */
  uploads: {
    find: FindUpload | null;
    /** Room for the bodies of all callers: content put in place of an id or a URL counts as if it had come with them. */
    room: Room;
  };
  /** Run tools for models; null for requests that have none. */
  serverTools: { ports: ServerToolPorts | null };
}

/** Services that the plan of a conversation needs in addition to the configuration. */
export interface PlanServices extends Pick<ChatServices, 'plans' | 'items'> {
  objects: Pick<ProviderObjects, 'bind' | 'ready' | 'give' | 'recorded'>;
  serverTools: { ports: Pick<ServerToolPorts, 'has'> | null };
}

/** The same, with the files that a body may name; absent: none of them is known. */
export interface ExplainServices extends PlanServices, Partial<Pick<ChatServices, 'bodies' | 'uploads'>> {
  /** Absent: nobody looks into the cache. */
  cache?: Pick<AnswerCache, 'explain'>;
}

/** Services that count tokens without an upstream. */
export interface CountServices extends ChatServices {
  tokenCounter: TokenCounter;
}
