# A linear regression on replicates, combined by Rubin's rules; nothing but base R is needed.
# Rscript inference.R FOLDER "wage ~ age + sex"
asked <- commandArgs(trailingOnly = TRUE)
files <- sort(list.files(asked[1], "^replicate-.*\\.csv$", full.names = TRUE))
fits <- lapply(files, function(file) lm(as.formula(asked[2]), read.csv(file)))

q <- sapply(fits, coef)                             # estimates, a column a replicate
u <- sapply(fits, function(fit) diag(vcov(fit)))    # their squared standard errors
m <- length(fits)
within <- rowMeans(u)
between <- (1 + 1 / m) * apply(q, 1, var)
estimate <- rowMeans(q)
error <- sqrt(within + between)
freedom <- (m - 1) * (1 + within / between)^2
wide <- qt(0.975, freedom) * error
print(round(cbind(estimate, error, low = estimate - wide, high = estimate + wide, freedom), 4))
