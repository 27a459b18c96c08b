import { queryOptions } from '@tanstack/react-query';
import { get } from '../../api/request.ts';

export interface Setting {
  path: string;
  /** The value as the file writes it. */
  value: string | null;
  from: 'default' | 'set';
}

interface ConfigReply {
  file: string | null;
  settings: readonly Setting[];
}

/** The configuration in force. */
export const configQuery = queryOptions({
  queryKey: ['/admin/v1/config'],
  queryFn: ({ signal }) => get<ConfigReply>('/admin/v1/config', {}, signal),
});
