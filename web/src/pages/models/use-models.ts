import { type QueryClient, queryOptions } from '@tanstack/react-query';
import type { ModelReply } from '../../../../src/admin/models.ts';
import { get } from '../../api/request.ts';

export const modelsPath = '/admin/v1/models';

/** As in `culvert.yaml`. */
export const modelTypes = ['chat', 'embedding', 'speech', 'transcription', 'image', 'video', 'rerank'] as const;

export function addressOf(id: string): string {
  return `${modelsPath}/${encodeURIComponent(id)}`;
}

export const modelQuery = (id: string) =>
  queryOptions({
    queryKey: [modelsPath, id],
    queryFn: ({ signal }) => get<ModelReply>(addressOf(id), {}, signal),
  });

export async function refreshModels(client: QueryClient): Promise<void> {
  await client.invalidateQueries({ queryKey: [modelsPath] });
}
