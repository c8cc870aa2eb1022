-- Queries of Analytics Engine over the points of hosts/cloudflare/src/counters.ts. Send one with
--   curl "https://api.cloudflare.com/client/v4/accounts/$CLOUDFLARE_ACCOUNT_ID/analytics_engine/sql" \
--     -H "Authorization: Bearer $CLOUDFLARE_API_TOKEN" --data "$QUERY"
-- `_sample_interval` is how many requests a point stands for.

-- requests: by route and status, in the last hour
SELECT blob2 AS route, blob3 AS status, SUM(_sample_interval) AS requests
FROM inference_gateway WHERE blob1 = 'request' AND timestamp > NOW() - INTERVAL '1' HOUR
GROUP BY route, status ORDER BY requests DESC;

-- errors: the share of answers 5xx, every five minutes of the last day. Page above 0.05.
SELECT toStartOfInterval(timestamp, INTERVAL '5' MINUTE) AS at,
  SUM(IF(blob3 >= '500', _sample_interval, 0)) / SUM(_sample_interval) AS failed
FROM inference_gateway WHERE blob1 = 'request' AND timestamp > NOW() - INTERVAL '1' DAY
GROUP BY at ORDER BY at;

-- refusals: by code, in the last day
SELECT blob4 AS code, SUM(_sample_interval) AS refused
FROM inference_gateway WHERE blob1 = 'request' AND blob4 <> '' AND timestamp > NOW() - INTERVAL '1' DAY
GROUP BY code ORDER BY refused DESC;

-- times: of whole answers, by route, in the last hour
SELECT blob2 AS route, quantileExactWeighted(0.5)(double1, _sample_interval) AS p50_ms,
  quantileExactWeighted(0.99)(double1, _sample_interval) AS p99_ms
FROM inference_gateway WHERE blob1 = 'request' AND timestamp > NOW() - INTERVAL '1' HOUR
GROUP BY route ORDER BY p99_ms DESC;

-- charged: dollars by model and day, in the last month
SELECT toDate(timestamp) AS day, blob5 AS model, SUM(double2 * _sample_interval) / 1000000000 AS charged_usd
FROM inference_gateway WHERE blob1 = 'request' AND double2 > 0 AND timestamp > NOW() - INTERVAL '30' DAY
GROUP BY day, model ORDER BY day, charged_usd DESC;

-- alerts: by event, in the last week
SELECT blob2 AS event, SUM(_sample_interval) AS alerts, MAX(timestamp) AS last
FROM inference_gateway WHERE blob1 = 'alert' AND timestamp > NOW() - INTERVAL '7' DAY
GROUP BY event ORDER BY alerts DESC;
