import { queryOptions } from '@tanstack/react-query';
import { get } from '../../api/request.ts';
import { bodyOf, type Document, operationsOf, type Schema } from './open-api.ts';

/** The server's description of its API, which changes with its version only. */
export const openApiQuery = queryOptions({
  queryKey: ['/openapi.json'],
  queryFn: ({ signal }) => get<Document>('/openapi.json', {}, signal),
  staleTime: Number.POSITIVE_INFINITY,
});

/** Schema of the body of an operation, such as `POST /v1/batches`; {} for one that the server does not have. */
export function bodySchemaOf(document: Document, id: string): Schema {
  const found = operationsOf(document).find((operation) => operation.id === id);
  return found === undefined ? {} : (bodyOf(found)?.schema ?? {});
}
