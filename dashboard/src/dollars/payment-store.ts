import type { Payment } from "@inference/sdk/payment";

/** The name of a wallet's payment in the browser's storage, and of its lock. */
export const paymentName = (address: string): string => `dollars:${location.origin}:${address.toLowerCase()}`;

export function readPayment(address: string): Payment | null {
  try {
    return JSON.parse(localStorage.getItem(paymentName(address)) ?? "null") as Payment | null;
  } catch {
    return null;
  }
}

export function keepPayment(address: string, payment: Payment | null): void {
  if (payment === null) localStorage.removeItem(paymentName(address));
  else localStorage.setItem(paymentName(address), JSON.stringify(payment));
}
