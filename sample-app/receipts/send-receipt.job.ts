/** Payload of a `send_receipt` job. */
export interface SendReceipt {
  readonly orderId: number;
}
