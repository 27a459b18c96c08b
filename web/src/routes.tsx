import {
  type AnyRoute,
  createRootRoute,
  createRoute,
  createRouter,
  type ErrorComponentProps,
  lazyRouteComponent,
  Navigate,
  useRouter,
} from '@tanstack/react-router';
import { useEffect } from 'react';
import { whenReachable } from './api/connection.ts';
import { serverPath } from './api/server-path.ts';
import { keyPages, operatorPages, type PageGroup } from './pages/pages.ts';
import { Button } from './parts/button.tsx';
import { Empty } from './parts/empty.tsx';
import { ErrorNote } from './parts/error-note.tsx';
import { searchForm } from './parts/filters.ts';
import { Page } from './parts/page.tsx';
import { Gate } from './shell/gate.tsx';

const root = createRootRoute();
const home = createRoute({ getParentRoute: () => root, path: '/', component: () => <Navigate to="/dashboard" /> });
const dashboard = createRoute({
  getParentRoute: () => root,
  path: '/dashboard',
  component: () => <Gate kind="operator" />,
});
const account = createRoute({ getParentRoute: () => root, path: '/account', component: () => <Gate kind="key" /> });

function pagesOf(parent: AnyRoute, groups: readonly PageGroup[]) {
  const pages = groups.flatMap((group) => group.pages);
  return pages.map(({ path, load }) => {
    const component = lazyRouteComponent(() => whenReachable(load));
    return createRoute({ getParentRoute: () => parent, path: path === '' ? '/' : path, component });
  });
}

export const router = createRouter({
  routeTree: root.addChildren([
    home,
    dashboard.addChildren(pagesOf(dashboard, operatorPages)),
    account.addChildren(pagesOf(account, keyPages)),
  ]),
  basepath: serverPath || '/',
  ...searchForm,
  // Its code, not its data: the page requests that itself.
  defaultPreload: 'intent',
  defaultErrorComponent: Broken,
  defaultNotFoundComponent: NotThere,
  scrollRestoration: true,
  scrollToTopSelectors: ['#page'],
});

/** A page that threw, or whose chunk could not be loaded: a newer Culvert may have replaced it meanwhile. */
function Broken({ error: thrown, reset }: ErrorComponentProps) {
  const error = thrown instanceof Error ? thrown : new Error(String(thrown));
  const router = useRouter();
  useEffect(() => console.error(thrown), [thrown]);
  return (
    <Page title="This page could not be shown">
      <ErrorNote error={error} retry={() => void router.invalidate().then(reset)} />
      <div>
        <Button onClick={() => location.reload()}>Reload the page</Button>
      </div>
    </Page>
  );
}

function NotThere() {
  return (
    <Page title="Not found">
      <Empty title="There is no such page">
        The address may be misspelled, or belong to another version of Culvert.
      </Empty>
    </Page>
  );
}
