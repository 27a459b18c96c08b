import type { Config } from '../../../config/schema.ts';
import type { Exchange, Route } from '../../exchange.ts';
import { openRoute } from '../key-route.ts';

/** The documentation. It is always served, since errors link to it; `folder` null: the built pages of this installation. */
export function docsRoutes(folder: string | null, server: () => Config['server']): Route[] {
  let loading: Promise<(exchange: Exchange) => Promise<void>> | null = null;
  return (['GET /docs', 'GET /docs/*'] as const).map((call) =>
    openRoute(call, 'The documentation, for browsers.', async (exchange) => {
      loading ??= import('../../docs-pages.ts').then(({ createDocsPages }) => createDocsPages(folder, server));
      await (await loading)(exchange);
    }),
  );
}
