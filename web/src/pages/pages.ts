import {
  Activity,
  Blocks,
  BookOpen,
  Bot,
  Boxes,
  ChartColumn,
  DatabaseZap,
  Gauge,
  Globe,
  KeyRound,
  Layers,
  LayoutDashboard,
  type LucideIcon,
  MessageSquareText,
  MessagesSquare,
  Plug,
  Server,
  Settings,
  ShieldCheck,
  Split,
  Users,
  Waypoints,
} from 'lucide-react';
import type { ComponentType } from 'react';
import type { Area } from '../api/rights.ts';

export interface PageEntry {
  /** Below /dashboard, or below /account for a key's pages; '' is the first one. With `$id` for a part that varies. */
  path: string;
  /** A separate chunk: what a page needs is loaded with it. */
  load: () => Promise<{ default: ComponentType }>;
  /** Place in the navigation; absent: it is not there. */
  nav?: Navigation;
}

export interface Navigation {
  title: string;
  icon: LucideIcon;
  /** `g` and this letter go there. */
  key: string;
  /** Its area: an operator whose role may not see it does not see the page. */
  area?: Area;
  /** In the bar at the bottom of a phone, which has room for four. */
  phone?: true;
}

export interface PageGroup {
  title: string | null;
  pages: readonly PageEntry[];
}

/** Pages of an operator, in the order of the navigation. */
export const operatorPages: readonly PageGroup[] = [
  {
    title: null,
    pages: [
      {
        path: '',
        load: () => import('./overview/page.tsx'),
        nav: { title: 'Overview', icon: LayoutDashboard, key: 'o', area: 'usage', phone: true },
      },
      {
        path: 'requests',
        load: () => import('./requests/page.tsx'),
        nav: { title: 'Requests', icon: Activity, key: 'r', area: 'requests', phone: true },
      },
      { path: 'requests/$id', load: () => import('./requests/request.tsx') },
      { path: 'bodies', load: () => import('./bodies/page.tsx') },
      { path: 'sessions', load: () => import('./sessions/page.tsx') },
      { path: 'sessions/timeline', load: () => import('./sessions/session.tsx') },
      {
        path: 'playground',
        load: () => import('./playground/page.tsx'),
        nav: { title: 'Playground', icon: MessagesSquare, key: 'p', area: 'calls', phone: true },
      },
      {
        path: 'usage',
        load: () => import('./usage/page.tsx'),
        nav: { title: 'Usage', icon: ChartColumn, key: 'u', area: 'usage', phone: true },
      },
      { path: 'statements', load: () => import('./statements/page.tsx') },
    ],
  },
  {
    title: 'Models',
    pages: [
      { path: 'welcome', load: () => import('./welcome/page.tsx') },
      {
        path: 'providers',
        load: () => import('./providers/page.tsx'),
        nav: { title: 'Providers', icon: Plug, key: 'd', area: 'providers' },
      },
      { path: 'providers/$name', load: () => import('./providers/provider.tsx') },
      {
        path: 'models',
        load: () => import('./models/page.tsx'),
        nav: { title: 'Models', icon: Boxes, key: 'm', area: 'models' },
      },
      { path: 'models/$id', load: () => import('./models/model.tsx') },
      {
        path: 'prompts',
        load: () => import('./prompts/page.tsx'),
        nav: { title: 'Prompts', icon: MessageSquareText, key: 'n', area: 'models' },
      },
      { path: 'prompts/$name', load: () => import('./prompts/prompt.tsx') },
      {
        path: 'guards',
        load: () => import('./guards/page.tsx'),
        nav: { title: 'Guards', icon: ShieldCheck, key: 'f', area: 'models' },
      },
      { path: 'guards/$name', load: () => import('./guards/guard.tsx') },
      {
        path: 'routes',
        load: () => import('./rules/page.tsx'),
        nav: { title: 'Rules', icon: Split, key: 'w', area: 'models' },
      },
      { path: 'routes/$name', load: () => import('./rules/rule.tsx') },
      {
        path: 'cache',
        load: () => import('./cache/page.tsx'),
        nav: { title: 'Cache', icon: DatabaseZap, key: 'h', area: 'models' },
      },
      {
        path: 'vectors',
        load: () => import('./vectors/page.tsx'),
        nav: { title: 'Vectors', icon: Waypoints, key: 'v', area: 'calls' },
      },
      {
        path: 'tools',
        load: () => import('./tools/page.tsx'),
        nav: { title: 'Web tools', icon: Globe, key: 't', area: 'calls' },
      },
      {
        path: 'jobs',
        load: () => import('./jobs/page.tsx'),
        nav: { title: 'Batches and files', icon: Layers, key: 'b', area: 'calls' },
      },
      {
        path: 'mcp-servers',
        load: () => import('./mcp-servers/page.tsx'),
        nav: { title: 'MCP servers', icon: Blocks, key: 'c', area: 'providers' },
      },
      { path: 'mcp-servers/$name', load: () => import('./mcp-servers/mcp-server.tsx') },
      { path: 'mcp-calls', load: () => import('./mcp-servers/calls.tsx') },
      {
        path: 'agents',
        load: () => import('./agents/page.tsx'),
        nav: { title: 'Agents', icon: Bot, key: 'x', area: 'providers' },
      },
      { path: 'agents/$name', load: () => import('./agents/agent.tsx') },
    ],
  },
  {
    title: 'People',
    pages: [
      {
        path: 'accounts',
        load: () => import('./accounts/page.tsx'),
        nav: { title: 'Accounts', icon: Users, key: 'a', area: 'accounts' },
      },
      { path: 'accounts/$id', load: () => import('./accounts/account.tsx') },
      {
        path: 'keys',
        load: () => import('./keys/page.tsx'),
        nav: { title: 'Keys', icon: KeyRound, key: 'k', area: 'keys' },
      },
      { path: 'keys/$id', load: () => import('./keys/key.tsx') },
      {
        path: 'plans',
        load: () => import('./plans/page.tsx'),
        nav: { title: 'Plans', icon: Gauge, key: 'l', area: 'plans' },
      },
      { path: 'plans/$name', load: () => import('./plans/plan.tsx') },
    ],
  },
  {
    title: 'Server',
    pages: [
      {
        path: 'replicas',
        load: () => import('./replicas/page.tsx'),
        nav: { title: 'Replicas', icon: Server, key: 'e', area: 'settings' },
      },
      {
        path: 'settings',
        load: () => import('./settings/page.tsx'),
        nav: { title: 'Settings', icon: Settings, key: 's', area: 'settings' },
      },
      {
        path: 'reference',
        load: () => import('./reference/page.tsx'),
        nav: { title: 'API reference', icon: BookOpen, key: 'i' },
      },
    ],
  },
];

/** Pages of a person who is logged in by an API key: the account's own. */
export const keyPages: readonly PageGroup[] = [
  {
    title: null,
    pages: [
      {
        path: '',
        load: () => import('./own/page.tsx'),
        nav: { title: 'Your key', icon: Gauge, key: 'o', phone: true },
      },
      {
        path: 'playground',
        load: () => import('./playground/page.tsx'),
        nav: { title: 'Playground', icon: MessagesSquare, key: 'p', phone: true },
      },
      {
        path: 'requests',
        load: () => import('./own/requests.tsx'),
        nav: { title: 'Requests', icon: Activity, key: 'r' },
      },
      {
        path: 'models',
        load: () => import('./own/models.tsx'),
        nav: { title: 'Models', icon: Boxes, key: 'm', phone: true },
      },
      {
        path: 'connect',
        load: () => import('./own/connect.tsx'),
        nav: { title: 'Connect', icon: Plug, key: 'c', phone: true },
      },
    ],
  },
];
