/** Rules between the settings of webhooks. */
import { isPrivateUrl } from '../webhooks/address-rules.ts';
import type { SettingName, SettingValues } from './settings.ts';

export const WEBHOOK_SETTINGS = [
  'webhookUrl',
  'webhookSecret',
  'webhookAllowPrivate',
] as const satisfies SettingName[];

export function checkWebhooks(
  values: Pick<SettingValues, (typeof WEBHOOK_SETTINGS)[number]>,
  label: (name: SettingName) => string,
): { problems: string[]; warnings: string[] } {
  const { webhookUrl, webhookSecret, webhookAllowPrivate } = values;
  if (webhookUrl === undefined) {
    const idle = `${label('webhookSecret')} is set and ${label('webhookUrl')} is not: it signs nothing`;
    return { problems: [], warnings: webhookSecret === undefined ? [] : [idle] };
  }
  const url = new URL(webhookUrl);
  const isPrivate = !webhookAllowPrivate && isPrivateUrl(url);
  const unsigned = `${label('webhookUrl')} is set and ${label('webhookSecret')} is not: its messages are not signed, and anyone could forge them`;
  return {
    problems: isPrivate
      ? [
          `${label('webhookUrl')} leads to ${url.hostname}, which is not public; set ${label('webhookAllowPrivate')} to true to let webhooks, including those of clients, call such addresses`,
        ]
      : [],
    warnings: webhookSecret === undefined ? [unsigned] : [],
  };
}
