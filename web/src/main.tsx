import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { queryClient } from './api/query-client.ts';
import { serverPath } from './api/server-path.ts';
import { applyTheme } from './parts/theme.ts';
import { router } from './routes.tsx';
import { reloadForLinks } from './shell/address-token.ts';
import './style.css';

applyTheme();
// Browsers ask for it again at each page, and the server wrote how far it is from the first one.
document.querySelector('link[rel=icon]')?.setAttribute('href', `${serverPath}/dashboard/favicon.svg`);
reloadForLinks();
createRoot(document.getElementById('app')!).render(
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      <RouterProvider router={router} />
    </QueryClientProvider>
  </StrictMode>,
);
