import type { Migration } from '../migration.ts';
import { alertMigration } from './alert-store.ts';
import { awayLinesMigration, batchMigration } from './batch-store.ts';
import { booksMigration } from './books-id.ts';
import { crawlMigration, crawlTurnMigration } from './crawl-schema.ts';
import { culvertMigration } from './culvert-schema.ts';
import { keptMcpMigration, keptMigration } from './kept-schema.ts';
import { leaseMigration } from './lease-schema.ts';
import {
  ledgerMigration,
  nameTablesMigration,
  trafficMigration,
  usageSourceMigration,
  videoSecondsMigration,
} from './ledger-schema.ts';
import { pageMigration, pageVariantMigration } from './page-schema.ts';
import { providerObjectMigration } from './provider-object-schema.ts';
import { recordOrderMigration } from './record-order.ts';
import { responseMigration } from './response-store.ts';
import { mcpGrantMigration, sessionMigration } from './session-schema.ts';
import { namedVectorMigration, vectorMigration, vectorSettingsMigration } from './vector-schema.ts';

/** The schema `culvert`: tables and columns are named as in SQLite, where both hold the same. Never edited, only added to. */
export const migrations: readonly Migration[] = [
  culvertMigration,
  ledgerMigration,
  leaseMigration,
  booksMigration,
  vectorMigration,
  crawlMigration,
  pageMigration,
  pageVariantMigration,
  crawlTurnMigration,
  providerObjectMigration,
  usageSourceMigration,
  namedVectorMigration,
  keptMigration,
  sessionMigration,
  trafficMigration,
  vectorSettingsMigration,
  nameTablesMigration,
  recordOrderMigration,
  alertMigration,
  responseMigration,
  batchMigration,
  keptMcpMigration,
  mcpGrantMigration,
  awayLinesMigration,
  videoSecondsMigration,
];
