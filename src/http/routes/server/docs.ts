import type { Config } from '../../../config/schema.ts';
import { openAiChat } from '../../../formats/dialects/openai-chat/index.ts';
import type { Exchange, Route } from '../../exchange.ts';

/** The documentation. It is always served, since errors link to it; `folder` null: the built pages of this installation. */
export function docsRoutes(folder: string | null, server: () => Config['server']): Route[] {
  let loading: Promise<(exchange: Exchange) => Promise<void>> | null = null;
  const page: Omit<Route, 'path'> = {
    method: 'GET',
    auth: 'none',
    quota: 'none',
    dialect: openAiChat,
    summary: 'The documentation, for browsers.',
    async handle(exchange) {
      loading ??= import('../../docs-pages.ts').then(({ createDocsPages }) => createDocsPages(folder, server));
      await (await loading)(exchange);
    },
  };
  return [
    { ...page, path: '/docs' },
    { ...page, path: '/docs/*' },
  ];
}
