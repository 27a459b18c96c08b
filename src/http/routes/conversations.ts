import type { Services } from '../../inference/endpoints/services.ts';
import {
  checkedItems,
  checkedMetadata,
  itemsSchema,
  metadataSchema,
} from '../../inference/families/responses/conversation-fields.ts';
import { conversationNotFound } from '../../inference/families/responses/expand.ts';
import { keepsFor, notStored } from '../../inference/families/responses/keeps-for.ts';
import type { StoredConversation } from '../../inference/families/responses/stored-responses.ts';
import { type Failure, isFailure } from '../../kernel/failure.ts';
import type { JsonObject } from '../../kernel/json.ts';
import { callerOf, type Route } from '../exchange.ts';
import { listOf, notOfList, pageIn } from './list-page.ts';
import { responsesPlace, type StoredCall, sendForeign, storedRoute } from './stored-route.ts';

const path = '/v1/conversations';
const one = `${path}/:id`;

/** `/v1/conversations`: lists of items that responses read from and add to, kept here for models of any provider. */
export function conversationsRoutes(services: Services): Route[] {
  const { responses } = services;
  const large = { ...responsesPlace, objects: services.bodies };

  return [
    storedRoute(
      'POST',
      path,
      'Begin a conversation',
      async (call) => {
        const checked = checkedMetadata(call.body.metadata ?? {});
        if (isFailure(checked)) return checked;
        const begun = checkedItems(call.body.items ?? []);
        if (isFailure(begun)) return begun;
        const why = await storageRefusal(services, call);
        return why ?? shownConversation(await responses.putConversation(call.tenant, checked.metadata, begun));
      },
      { metadata: metadataSchema, items: itemsSchema },
      large,
    ),
    storedRoute('GET', one, 'A conversation', (call) => shown(services, call, idOf(call))),
    storedRoute(
      'POST',
      one,
      "Change a conversation's metadata",
      async (call) => {
        const checked = checkedMetadata(call.body.metadata ?? {});
        if (isFailure(checked)) return checked;
        await responses.setMetadata(call.tenant, idOf(call), checked.metadata);
        return shown(services, call, idOf(call));
      },
      { metadata: metadataSchema },
    ),
    storedRoute('DELETE', one, 'Delete a conversation and its items', async (call) => {
      const id = idOf(call);
      if (await responses.removeConversation(call.tenant, id))
        return { id, object: 'conversation.deleted', deleted: true };
      return conversationNotFound(id);
    }),
    ...itemsRoutes(services),
  ];
}

function itemsRoutes(services: Services): Route[] {
  const { responses } = services;
  const items = `${one}/items`;
  const large = { ...responsesPlace, objects: services.bodies };
  return [
    storedRoute(
      'POST',
      items,
      'Add items to a conversation',
      async (call) => {
        const added = checkedItems(call.body.items);
        if (isFailure(added)) return added;
        const why = await storageRefusal(services, call);
        if (why !== null) return why;
        if (await responses.addItems(call.tenant, idOf(call), added)) return listOf(added, added.length);
        return conversationNotFound(idOf(call));
      },
      { items: itemsSchema },
      large,
    ),
    storedRoute('GET', items, 'Items of a conversation', async (call) => {
      const page = pageIn(call.query);
      if (isFailure(page)) return page;
      const { after, limit, order } = page;
      const conversation = await shown(services, call, idOf(call));
      if (isFailure(conversation)) return conversation;
      // Callers remove items as they list them: the last of a page may be gone when they ask for the next.
      const known = after === null || (await responses.hasPlace(call.tenant, idOf(call), after));
      if (!known) return notOfList('after', after);
      return listOf(await responses.items(call.tenant, idOf(call), { order, after, limit: limit + 1 }), limit);
    }),
    storedRoute('GET', `${items}/:item`, 'An item of a conversation', async (call) => {
      const found = await itemOf(call, call.params.item ?? '');
      return found === null ? itemNotFound(call) : sendForeign(call.exchange, found);
    }),
    storedRoute('DELETE', `${items}/:item`, 'Delete an item of a conversation', async (call) => {
      const removed = await responses.removeItem(call.tenant, idOf(call), call.params.item ?? '');
      return removed ? shown(services, call, idOf(call)) : itemNotFound(call);
    }),
  ];

  async function itemOf(call: StoredCall, id: string): Promise<JsonObject | null> {
    const page = { order: 'asc', after: null, limit: 1, id } as const;
    const [found] = await responses.items(call.tenant, idOf(call), page);
    return found ?? null;
  }

  function itemNotFound(call: StoredCall): Failure {
    const message = `Item with id '${call.params.item}' not found in conversation '${idOf(call)}'.`;
    return { kind: 'not-found', message };
  }
}

const idOf = ({ params }: StoredCall) => params.id ?? '';

async function shown({ responses }: Services, { tenant }: StoredCall, id: string): Promise<JsonObject | Failure> {
  const found = await responses.conversation(tenant, id);
  return found === null ? conversationNotFound(id) : shownConversation(found);
}

/** Why nothing is kept for this key, or no more; null: it is. */
async function storageRefusal(services: Services, { exchange, account }: StoredCall): Promise<Failure | null> {
  return keepsFor(services.snapshots.current, callerOf(exchange)) ? services.storage.mayKeep(account) : notStored;
}

function shownConversation({ id, createdMs, metadata }: StoredConversation): JsonObject {
  return { id, object: 'conversation', created_at: Math.floor(createdMs / 1_000), metadata };
}
